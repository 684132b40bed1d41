import { characterEntities } from "character-entities";
import { characterEntitiesLegacy } from "character-entities-legacy";
import { describe, expect, it } from "vitest";
import { decodeReferences } from "../../src/markdown/character-references.ts";

describe("character references", () => {
	it("have all names of the standard", () => {
		const names = Object.entries(characterEntities);
		expect(names).toHaveLength(2125);
		for (const [name, text] of names) expect(decodeReferences(`a&${name};b`), name).toBe(`a${text}b`);
	});

	it("need no semicolon where they are as old as HTML 2, except in an address", () => {
		expect(characterEntitiesLegacy).toHaveLength(106);
		for (const name of characterEntitiesLegacy) {
			const text = characterEntities[name];
			expect(decodeReferences(`&${name} b`), name).toBe(`${text} b`);
			expect(decodeReferences(`?a&${name}=b`, true)).toBe(`?a&${name}=b`);
			expect(decodeReferences(`"&${name}"`, true)).toBe(`"${text}"`);
		}
	});

	it.each([
		["&notit; &notin; &copy2019", "¬it; ∉ ©2019"],
		["&lang &bogus; &; & &#; &#x; &", "&lang &bogus; &; & &#; &#x; &"],
		["&#65;&#x42;&#X43&#x1F600;", "ABC😀"],
		["&#0;&#xD800;&#x110000;&#99999999999;", "\ufffd\ufffd\ufffd\ufffd"],
		["&#x80;&#150;&#x81;", "€–\u0081"],
	])("%s", (text, expected) => {
		expect(decodeReferences(text)).toBe(expected);
	});
});
