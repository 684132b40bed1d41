import { expect, it } from "vitest";
import { run } from "./fixture.ts";

const translate = async (text: string, source_lang: string, target_lang: string) =>
	(await run("translation", { texts: [text], source_lang, target_lang })).texts[0];

it.each([
	["Hello world", "en", "fr", "Bonjour le monde"],
	["Hello world!", "english", "french", "Bonjour le monde!"],
	["Buenos días", "es", "de", "Guten morgen"],
	["Thank you.", "en", "deu_Latn", "Danke."],
	["coffee and bread", "en", "it", "caffè e pane"],
	["The train leaves at nine.", "en", "fr", "[fr] The train leaves at nine."],
	["Hello world", "en", "hin_Deva", "[hin_Deva] Hello world"],
	["Hello", "en", "EN", "Hello"],
	["42", "en", "fr", "42"],
	["", "en", "fr", ""],
])("%s (%s to %s)", async (text, from, to, translated) =>
	expect(await translate(text, from, to)).toBe(translated),
);

it("keeps the order of the texts and counts both sides", async () => {
	expect(
		await run("translation", { texts: ["yes", "no way"], source_lang: "en", target_lang: "de" }),
	).toEqual({
		texts: ["ja", "[de] no way"],
		usage: { prompt_tokens: 3, completion_tokens: 6, total_tokens: 9 },
	});
});
