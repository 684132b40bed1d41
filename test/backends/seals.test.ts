import { describe, expect, it } from "vitest";
import { AccountSeals } from "../../src/backends/seals.ts";

const KEY = new Uint8Array(32).fill(7);
const TARGET = { backend: "openai", model: "gpt-6-astra" };

function sealsOf({ key = KEY as Uint8Array | undefined, account = "a", target = TARGET } = {}) {
	const dropped: string[] = [];
	return { dropped, seals: new AccountSeals({ key, account, target, dropped }) };
}

const made = (value: unknown): string => String(sealsOf().seals.seal(value));

describe("a seal", () => {
	it.each([{ a: 1 }, "x", "xy", "xyz", { text: "é".repeat(500) }])("holds %j", (value) => {
		const { seals, dropped } = sealsOf();
		const seal = made(value);
		expect(seal).toMatch(/^gngl[A-Za-z0-9+/]*$/);
		expect(seals.open(seal)).toEqual([value]);
		expect(dropped).toEqual([]);
	});

	it("hides its content", () => {
		expect(atob(made("secret-reasoning"))).not.toContain("secret-reasoning");
		expect(atob(made("x"))).not.toContain("gpt-6-astra");
	});

	it("is valid base64 when it is joined to others, and all are opened", () => {
		const joined = made("one") + made({ two: 2 }) + made("three");
		expect(atob(joined).length).toBeGreaterThan(0);
		expect(sealsOf().seals.open(joined)).toEqual(["one", { two: 2 }, "three"]);
	});

	it.each([
		["another account", { account: "b" }],
		["another backend", { target: { ...TARGET, backend: "azure" } }],
		["another model", { target: { ...TARGET, model: "gpt-6-sol" } }],
		["another deployment", { key: new Uint8Array(32).fill(8) }],
		["a deployment without its key", { key: undefined }],
	])("is dropped by %s", (_, options) => {
		const { seals, dropped } = sealsOf(options);
		if ("key" in options && options.key === undefined) return expectNothing();
		expect(seals.open(made("x"))).toEqual([]);
		expect(dropped).toEqual(["reasoning.signature"]);
	});

	function expectNothing(): void {
		const dropped: string[] = [];
		const seals = new AccountSeals({ key: undefined, account: "a", target: TARGET, dropped });
		expect(seals.seal("x")).toBeUndefined();
		expect(seals.open(made("x"))).toEqual([]);
		expect(dropped).toEqual(["reasoning.signature"]);
	}

	it("is dropped if any byte has changed, or it is cut or not a seal", () => {
		const seal = made("reasoning");
		const bytes = Uint8Array.fromBase64(seal);
		for (let index = 0; index < bytes.length; index++) {
			const changed = bytes.slice();
			changed[index] = (changed[index] ?? 0) ^ 1;
			const { seals, dropped } = sealsOf();
			expect(seals.open(changed.toBase64())).toEqual([]);
			expect(dropped).toEqual(["reasoning.signature"]);
		}
		for (const text of [seal.slice(0, -4), `${seal}AAAA`, "gngl", "EqQBCgIYAhIM", "{}", "é"])
			expect(sealsOf().seals.open(text)).toEqual([]);
	});
});
