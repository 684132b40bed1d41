import fc from "fast-check";
import { expect, it } from "vitest";
import { run } from "./fixture.ts";

const contexts = [
	"The octopus has three hearts.",
	"Paris is the capital of France.",
	"France is famous for its cheese. The capital of cheese is Normandy, some say, but most people live elsewhere.",
	"Berlin is the capital of Germany.",
];

it("ranks every context, the best first", async () => {
	const { ranks } = await run("reranking", { query: "What is the capital of France?", contexts });
	expect(ranks.map(({ id }) => id)).toEqual([1, 2, 3, 0]);
	expect(ranks[0]?.score).toBeGreaterThan(0.4);
	expect(ranks[3]).toEqual({ id: 0, score: 0 });
});

it("keeps the first top_k", async () => {
	const { ranks } = await run("reranking", { query: "capital of France", contexts, top_k: 2 });
	expect(ranks.map(({ id }) => id)).toEqual([1, 2]);
});

it("keeps the order of equal scores", async () => {
	const { ranks } = await run("reranking", { query: "nothing here", contexts: ["a b", "c d", "a b"] });
	expect(ranks).toEqual([0, 1, 2].map((id) => ({ id, score: 0 })));
});

it("has each context once, with a score from 0 to 1", async () => {
	const text = fc.string({ unit: "grapheme" });
	await fc.assert(
		fc.asyncProperty(text, fc.array(text, { minLength: 1 }), async (query, given) => {
			const { ranks } = await run("reranking", { query, contexts: given });
			expect(ranks.map(({ id }) => id).sort((a, b) => a - b)).toEqual(given.map((_, id) => id));
			ranks.forEach(({ score }, place) => {
				expect(score).toBeGreaterThanOrEqual(0);
				expect(score).toBeLessThanOrEqual(ranks[place - 1]?.score ?? 1);
			});
		}),
	);
});
