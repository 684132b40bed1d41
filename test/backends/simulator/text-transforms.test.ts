import { expect, it } from "vitest";
import { run } from "./fixture.ts";

it.each(["I love it", "I hate it", ""])("has neutral sentiment: %j", async (text) => {
	expect(await run("text-classification", { text })).toEqual({
		labels: [
			{ label: "NEGATIVE", score: 0.5 },
			{ label: "POSITIVE", score: 0.5 },
		],
	});
});

it("marks untranslated text", async () => {
	expect(
		await run("translation", { texts: ["Good morning"], source_lang: "en", target_lang: "french" }),
	).toEqual({
		texts: ["[simulated translation to french] Good morning"],
		usage: { prompt_tokens: 2, completion_tokens: 10, total_tokens: 12 },
	});
});

it("quotes the beginning as a summary", async () => {
	const text = "One two three. ".repeat(100);
	const { summary, usage } = await run("summarization", { text, max_length: 1024 });
	expect(summary).toMatch(
		/^\[Simulated summary; no model read the text\.\] It begins: "One two three\. .* …"$/,
	);
	expect(usage).toMatchObject({ prompt_tokens: 401 });
	expect((await run("summarization", { text, max_length: 4 })).summary).toBe("[Simulated summary");
	expect((await run("summarization", { text: "Short.", max_length: 1024 })).summary).toBe(
		'[Simulated summary; no model read the text.] It begins: "Short."',
	);
});
