import { expect, it } from "vitest";
import { languageCode, languageName } from "../../../src/dialects/media/languages.ts";

it.each([
	["en", "english"],
	["de", "german"],
	["zh", "chinese"],
	["yue", "cantonese"],
	["haw", "hawaiian"],
	["no", "norwegian"],
])("%s is %s, in both directions", (code, name) => {
	expect(languageName(code)).toBe(name);
	expect(languageCode(name)).toBe(code);
	expect(languageCode(name.toUpperCase())).toBe(code);
	expect(languageCode(code)).toBe(code);
	expect(languageName(name)).toBe(name);
});

it("returns unknown text unchanged", () => {
	expect(languageCode("en-US")).toBe("en-us");
	expect(languageCode("klingon")).toBe("klingon");
	expect(languageName("")).toBe("");
	expect(languageCode(undefined)).toBeUndefined();
});
