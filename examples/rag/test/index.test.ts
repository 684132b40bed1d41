import { SELF } from "cloudflare:test";
import { expect, it } from "vitest";

interface Answer {
	answer: string;
	sources: { source: string; score: number }[];
}

const ask = (question: string, path = "ask") =>
	SELF.fetch(`https://handbook.example/${path}?${new URLSearchParams({ q: question })}`);

const QUESTIONS: readonly [question: string, source: string][] = [
	["How much does express delivery cost?", "handbook/shipping.md"],
	["On which day is the store in Utrecht closed?", "handbook/stores.md"],
	["Does the warranty cover damage by salt water?", "handbook/warranty.md"],
];

it.each(QUESTIONS)("answers %j, and names the nearest document", async (question, source) => {
	const { answer, sources } = await (await ask(question)).json<Answer>();
	// The simulator does not read the documents: it quotes the question.
	expect(answer).toContain(`You wrote: "${question}"`);
	expect(sources[0]?.source).toBe(source);
	expect(sources).toHaveLength(2);
	expect(sources[0]?.score).toBeGreaterThan(sources[1]?.score ?? 0);
});

it("answers from AI Search, with the same documents", async () => {
	for (const [question, source] of QUESTIONS) {
		const { answer, sources } = await (await ask(question, "search")).json<Answer>();
		expect(answer).toContain(`You wrote: "${question}"`);
		expect(sources[0]?.source).toBe(source);
		expect(sources).toHaveLength(2);
	}
});

it("asks for a question", async () => {
	expect((await ask(" ")).status).toBe(404);
});
