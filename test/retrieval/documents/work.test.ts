import { describe, expect, it } from "vitest";
import { CHARACTERS_PER_UNIT, FILE_WORK, Work } from "../../../src/retrieval/documents/work.ts";

describe("the allowance of a file", () => {
	it("is the stated amount and no more", () => {
		const work = new Work();
		work.spend(FILE_WORK - 1);
		work.spendCharacters(CHARACTERS_PER_UNIT);
		expect(work.spent).toBe(FILE_WORK);
		expect(() => work.spend(0.1)).toThrow(/^The file is too large or too complex/);
		expect(work.spent).toBe(FILE_WORK);
	});
});
