import { describe, expect, it } from "vitest";
import { BLOCK_CHARACTERS, hashPrompt, hashText } from "../../src/pools/block-hashes.ts";

const blockHashes = (scope: string, texts: string[]) => hashPrompt(scope, texts).blocks;
const text = (length: number, seed = 0): string =>
	Array.from({ length }, (_, i) => String.fromCharCode(97 + ((i * 7 + seed) % 26))).join("");

describe("hashPrompt", () => {
	it("hashes complete blocks only", () => {
		expect(blockHashes("a", [text(BLOCK_CHARACTERS - 1)])).toEqual([]);
		expect(blockHashes("a", [text(BLOCK_CHARACTERS)])).toHaveLength(1);
		expect(blockHashes("a", [text(2 * BLOCK_CHARACTERS + 5)])).toHaveLength(2);
		expect(blockHashes("a", [])).toEqual([]);
	});

	it("gives prompts equal hashes as far as they are equal", () => {
		const beginning = text(3 * BLOCK_CHARACTERS);
		const first = blockHashes("a", [beginning, text(5_000, 1)]);
		const second = blockHashes("a", [beginning, text(5_000, 2)]);
		expect(first.slice(0, 3)).toEqual(second.slice(0, 3));
		expect(first[3]).not.toBe(second[3]);
		expect(first[4]).not.toBe(second[4]);
	});

	it("covers all text before a block", () => {
		const end = text(BLOCK_CHARACTERS);
		const [, first] = blockHashes("a", [text(BLOCK_CHARACTERS, 1), end]);
		const [, second] = blockHashes("a", [text(BLOCK_CHARACTERS, 2), end]);
		expect(first).not.toBe(second);
	});

	it("separates scopes, and parts", () => {
		const prompt = text(BLOCK_CHARACTERS);
		expect(blockHashes("a", [prompt])).not.toEqual(blockHashes("b", [prompt]));
		expect(blockHashes("a", [prompt])).not.toEqual(blockHashes("a", [prompt.slice(0, 9), prompt.slice(9)]));
	});

	it("returns distinct integers of 53 bits", () => {
		const hashes = Array.from({ length: 20_000 }, (_, i) => hashText(`text ${i}`));
		expect(new Set(hashes).size).toBe(20_000);
		expect(hashes.every((hash) => Number.isSafeInteger(hash) && hash >= 0)).toBe(true);
		// Evenly distributed, so that a ring is divided evenly: a quarter of them in each quarter.
		for (let quarter = 0; quarter < 4; quarter++) {
			const share = hashes.filter((hash) => Math.floor(hash / 2 ** 51) === quarter).length / 20_000;
			expect(Math.abs(share - 0.25)).toBeLessThan(0.02);
		}
	});

	it("has the same hashes in every version, so that sessions keep their replicas during a deployment", () => {
		expect(["", "a", "account s"].map(hashText)).toEqual([
			7_658_998_412_702_337, 5_533_579_975_989_521, 4_813_512_183_774_786,
		]);
		expect(hashPrompt("a", ["b", "c"], 2).opening).toBe(4_622_898_426_515_233);
	});

	it("stops at 256 blocks", () => {
		expect(blockHashes("a", [text(300 * BLOCK_CHARACTERS)])).toHaveLength(256);
	});

	it("identifies a conversation by the texts that it begins with", () => {
		const openingOf = (scope: string, texts: string[]) => hashPrompt(scope, texts, 2).opening;
		const first = openingOf("a", ["system", "Hi"]);
		expect(openingOf("a", ["system", "Hi", "Hello.", "How are you?"])).toBe(first);
		expect(openingOf("a", ["system", "Ho", "Hello."])).not.toBe(first);
		expect(openingOf("b", ["system", "Hi"])).not.toBe(first);
	});
});
