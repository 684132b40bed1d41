import { describe, expect, it } from "vitest";
import { CHARACTERS_PER_UNIT, FILE_WORK, REQUEST_WORK, Work } from "../../../src/retrieval/documents/work.ts";

describe("the allowance", () => {
	it("of a file allows the stated amount and no more", () => {
		const work = Work.ofRequest().ofFile();
		work.spend(FILE_WORK - 1);
		work.spendCharacters(CHARACTERS_PER_UNIT);
		expect(() => work.spend(0.1)).toThrow(/^The file is too large or too complex/);
	});

	it("of a request is spent by all its files, and each has no more than its own", () => {
		const request = Work.ofRequest();
		const files = REQUEST_WORK / FILE_WORK;
		for (let i = 0; i < files; i++) request.ofFile().spend(FILE_WORK);
		expect(() => request.ofFile().spend(1)).toThrow("The files of this request are together too large");
	});

	it("of a request is not touched by what a file was refused", () => {
		const request = Work.ofRequest();
		for (let i = 0; i < 10; i++) expect(() => request.ofFile().spend(FILE_WORK + 1)).toThrow();
		request.ofFile().spend(FILE_WORK);
	});
});
