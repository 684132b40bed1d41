import { SELF } from "cloudflare:test";
import { expect, it } from "vitest";

interface Answer {
	answer: string;
	sources: { source: string; score: number }[];
}

const ask = (question: string) =>
	SELF.fetch(`https://handbook.example/ask?${new URLSearchParams({ q: question })}`);

it.each([
	["How much does express delivery cost?", "handbook/shipping.md"],
	["On which day is the store in Utrecht closed?", "handbook/stores.md"],
	["Does the warranty cover damage by salt water?", "handbook/warranty.md"],
])("answers %j, and names the nearest document", async (question, source) => {
	const { answer, sources } = await (await ask(question)).json<Answer>();
	// The simulator does not read the documents: it quotes the question.
	expect(answer).toContain(`You wrote: "${question}"`);
	expect(sources[0]?.source).toBe(source);
	expect(sources).toHaveLength(2);
	expect(sources[0]?.score).toBeGreaterThan(sources[1]?.score ?? 0);
});

it("asks for a question", async () => {
	expect((await ask(" ")).status).toBe(404);
});
