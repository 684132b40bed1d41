import { describe, expect, it } from "vitest";
import { boundJson } from "../../src/http/json-scan.ts";

const check = (text: string, depth = 64): void => boundJson(text, depth);
const TOO_MANY = "5006: Error: '/' holds more than 100000 values";

describe("the limits of values in JSON text", () => {
	it.each([
		["keys", (n: number) => `[${'{"a":1},'.repeat((n - 1) >> 1)}${n % 2 ? 1 : "[]"}]`],
		["strings", (n: number) => `[${Array.from({ length: n - 1 }, () => '"a"').join(",")}]`],
		["escaped strings", (n: number) => `[${Array.from({ length: n - 1 }, () => '"\\\\\\""').join(",")}]`],
		["lists", (n: number) => `[${Array.from({ length: n - 1 }, () => "[]").join(",")}]`],
		["objects", (n: number) => `[${Array.from({ length: n - 1 }, () => "{}").join(",")}]`],
	])("are at most 100,000: %s", (_, text) => {
		expect(() => check(text(100_000))).not.toThrow();
		expect(() => check(text(100_001))).toThrow(TOO_MANY);
	});

	it("are at most 5,000 keys of one object, at any depth", () => {
		const object = (n: number): string => `{${Array.from({ length: n }, (_, i) => `"${i}":1`).join(",")}}`;
		const tooMany = "5006: Error: an object holds more than 5000 keys";
		expect(() => check(`[${object(5_000)},${object(5_000)}]`)).not.toThrow();
		expect(() => check(`{"a":${object(5_000)},"b":[1,2]}`)).not.toThrow();
		expect(() => check(object(5_001))).toThrow(tooMany);
		expect(() => check(`{"a":[${object(5_001)}]}`)).toThrow(tooMany);
	});

	it("do not count brackets in strings, with any escapes", () => {
		const brackets = "[{".repeat(100_000);
		for (const text of [
			`"${brackets}"`,
			`"\\"${brackets}"`,
			`"\\\\\\"${brackets}\\\\"`,
			`["a\\\\","${brackets}"]`,
		])
			expect(() => check(text)).not.toThrow();
	});

	it("do not count numbers", () => {
		expect(() => check(`[${"255,".repeat(1_000_000)}0]`)).not.toThrow();
	});
});

describe("the depth of JSON text", () => {
	it("counts lists and objects", () => {
		expect(() => check('[{"a":[{}]}]', 4)).not.toThrow();
		expect(() => check('[{"a":[{}]}]', 3)).toThrow("5006: Error: nested deeper than 3 levels");
	});

	it("decreases at a closing bracket", () => {
		expect(() => check("[[],[],[[]]]", 3)).not.toThrow();
	});
});
