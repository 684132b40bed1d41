import { describe, expect, it } from "vitest";
import { outputOf } from "../ask.ts";
import { failureOf, json } from "../upstream.ts";
import { ask } from "./ask.ts";

const RERANKER = "@cf/baai/bge-reranker-base";
const TRANSLATOR = "@cf/meta/m2m100-1.2b";

describe("a ranking", () => {
	const rank = (ranks: object[], top_k?: number) =>
		ask(
			"reranking",
			RERANKER,
			{ query: "q", contexts: ["a", "b"], ...(top_k !== undefined && { top_k }) },
			() => json({ result: { response: ranks } }),
		);

	it("is sorted and limited", async () => {
		const ranks = [
			{ id: 0, score: 0.2 },
			{ id: 1, score: 0.9 },
		];
		const sorted = [
			{ id: 1, score: 0.9 },
			{ id: 0, score: 0.2 },
		];
		const ranking = rank(ranks);
		expect(await outputOf(ranking)).toEqual({ ranks: sorted });
		expect(ranking.call.requests[0]?.json).toEqual({ query: "q", contexts: [{ text: "a" }, { text: "b" }] });
		expect(await outputOf(rank(ranks, 1))).toEqual({ ranks: sorted.slice(0, 1) });
	});

	it.each([
		["a context that there is not", [{ id: 2, score: 1 }]],
		[
			"a context twice",
			[
				{ id: 1, score: 1 },
				{ id: 1, score: 0.5 },
			],
		],
	])("fails for %s", async (_, ranks) => {
		expect(await failureOf(rank(ranks).answer)).toMatchObject({
			key: "executionFailed",
			description: expect.stringContaining("a ranking of 2 contexts"),
		});
	});
});

describe("a translation of several texts", () => {
	it("makes one call per text and sums the usage", async () => {
		const usages = [{ prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 }, undefined];
		const asking = ask(
			"translation",
			TRANSLATOR,
			{ texts: ["One", "Two"], source_lang: "en", target_lang: "fr" },
			({ json: body }) => {
				const at = body.text === "One" ? 0 : 1;
				return json({ result: { translated_text: ["Un", "Deux"][at], usage: usages[at] } });
			},
		);
		expect(await outputOf(asking)).toEqual({
			texts: ["Un", "Deux"],
			usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 },
		});
		expect(asking.call.requests.map(({ json: body }) => body)).toEqual([
			{ text: "One", source_lang: "en", target_lang: "fr" },
			{ text: "Two", source_lang: "en", target_lang: "fr" },
		]);
	});

	it("has no usage if no reply has one", async () => {
		const input = { texts: ["One"], source_lang: "en", target_lang: "fr" };
		const asking = ask("translation", TRANSLATOR, input, () => json({ result: { translated_text: "Un" } }));
		expect(await outputOf(asking)).toEqual({ texts: ["Un"] });
	});
});
