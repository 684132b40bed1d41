/** Vectors of an engine that does not do what it should are not stored, and search nothing. */
import { describe, expect, it } from "vitest";
import { embeddings, type SearchModels } from "../../../src/retrieval/search/models.ts";

const TEXTS = ["a", "b"];

/** An engine whose answer has this text as its list of rows. */
const answering = (data: string): SearchModels => ({
	isLexical: false,
	native: () => Promise.reject(new Error("not called")),
	openAi: async () =>
		new Response(`{"object":"list","data":${data}}`, { headers: { "content-type": "application/json" } }),
});

const vectorsOf = async (data: string): Promise<number[][]> => {
	const found: number[][] = [];
	for await (const batch of embeddings("acme/embed", TEXTS, answering(data)))
		found.push(...batch.map((vector) => [...vector]));
	return found;
};

describe("the vectors of an engine", () => {
	it("are one for each text", async () => {
		expect(await vectorsOf('[{"embedding":[1,0.5]},{"embedding":[0,-2]}]')).toEqual([
			[1, 0.5],
			[0, -2],
		]);
	});

	it.each([
		["too few", '[{"embedding":[1,0]}]'],
		["too many", '[{"embedding":[1,0]},{"embedding":[1,0]},{"embedding":[1,0]}]'],
		["different widths", '[{"embedding":[1,0]},{"embedding":[1]}]'],
		["an empty one", '[{"embedding":[1,0]},{"embedding":[]}]'],
		["a number beyond float64", '[{"embedding":[1,0]},{"embedding":[1e999,0]}]'],
		["a number beyond float32", '[{"embedding":[1,0]},{"embedding":[1e39,0]}]'],
		["a text", '[{"embedding":[1,0]},{"embedding":["1",0]}]'],
		["null", '[{"embedding":[1,0]},{"embedding":[null,0]}]'],
		["a list", '[{"embedding":[1,0]},{"embedding":[[1],0]}]'],
		["no list", "null"],
	])("refused: %s", async (_, data) => {
		await expect(vectorsOf(data)).rejects.toMatchObject({
			message: expect.stringContaining("acme/embed did not return one vector for each text"),
			status: 502,
		});
	});
});
