import { SELF } from "cloudflare:test";
import { expect, it } from "vitest";

interface Answer {
	answer: string;
	sources: { source: string; score: number }[];
}

const ask = (question: string) =>
	SELF.fetch(`https://handbook.example/ask?${new URLSearchParams({ q: question })}`);

it.each([
	["How much does express delivery cost?", "Express delivery costs 9 euros", "handbook/shipping.md"],
	["On which day is the store in Utrecht closed?", "closed on Mondays", "handbook/stores.md"],
	["Does the warranty cover damage by salt water?", "salt water is not covered", "handbook/warranty.md"],
])("answers %j from one document, and names it", async (question, quoted, source) => {
	const { answer, sources } = await (await ask(question)).json<Answer>();
	expect(answer).toContain(quoted);
	expect(sources[0]?.source).toBe(source);
	expect(sources).toHaveLength(2);
	expect(sources[0]?.score).toBeGreaterThan(sources[1]?.score ?? 0);
});

it("quotes nothing when no document answers", async () => {
	const { answer } = await (await ask("Who painted the Mona Lisa?")).json<Answer>();
	expect(answer).toContain("simulator");
});

it("asks for a question", async () => {
	expect((await ask(" ")).status).toBe(404);
});
