import { describe, expect, it } from "vitest";
import { boundJson } from "../../src/http/json-scan.ts";

const check = (text: string, depth = 64): void => boundJson(new TextEncoder().encode(text), depth);
const TOO_MANY = "5006: Error: '/' holds more than 100000 values";

describe("values before the text is parsed", () => {
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

	it("are not what a string holds, whatever its escapes", () => {
		const brackets = "[{".repeat(100_000);
		for (const text of [
			`"${brackets}"`,
			`"\\"${brackets}"`,
			`"\\\\\\"${brackets}\\\\"`,
			`["a\\\\","${brackets}"]`,
		])
			expect(() => check(text)).not.toThrow();
	});

	it("are not the numbers of a file", () => {
		expect(() => check(`[${"255,".repeat(1_000_000)}0]`)).not.toThrow();
	});
});

describe("depth before the text is parsed", () => {
	it("is counted over lists and objects", () => {
		expect(() => check('[{"a":[{}]}]', 4)).not.toThrow();
		expect(() => check('[{"a":[{}]}]', 3)).toThrow("5006: Error: nested deeper than 3 levels");
	});

	it("falls where one is closed", () => {
		expect(() => check("[[],[],[[]]]", 3)).not.toThrow();
	});
});
