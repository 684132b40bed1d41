/** LangChain's published Vectorize store on `env.VECTORIZE`. */
import { env } from "cloudflare:workers";
import { CloudflareVectorizeStore } from "@langchain/cloudflare";
import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import { describe, expect, it } from "vitest";

const { VECTORIZE } = env as unknown as Record<"VECTORIZE", VectorizeIndex>;

const VECTORS: Readonly<Record<string, number[]>> = {
	cats: [1, 0, 0],
	"cats and dogs": [1, 0.5, 0],
	trains: [0, 0, 1],
};
const vectorOf = (text: string): number[] => VECTORS[text] ?? [0, 1, 0];
const embeddings: EmbeddingsInterface = {
	embedDocuments: async (texts) => texts.map(vectorOf),
	embedQuery: async (text) => vectorOf(text),
};

describe("CloudflareVectorizeStore of @langchain/cloudflare", () => {
	it("adds, finds, filters and deletes documents", async () => {
		const store = new CloudflareVectorizeStore(embeddings, { index: VECTORIZE });
		const ids = ["lc-1", "lc-2", "lc-3"];
		const documents = [
			{ pageContent: "cats", metadata: { page: 11 } },
			{ pageContent: "cats and dogs", metadata: { page: 12 } },
			{ pageContent: "trains", metadata: { page: 13 } },
		];
		expect(await store.addDocuments(documents, { ids })).toEqual(ids);
		// The metric of the index is the distance.
		const found = await store.similaritySearchWithScore("cats", 2, { page: { $gte: 11 } });
		expect(found.map(([{ metadata, pageContent }, score]) => [pageContent, metadata, score])).toEqual([
			["cats", { page: 11 }, 0],
			["cats and dogs", { page: 12 }, 0.5],
		]);
		const filtered = await store.similaritySearch("cats", 2, { page: 13 });
		expect(filtered.map(({ pageContent }) => pageContent)).toEqual(["trains"]);
		await store.delete({ ids });
		expect(await VECTORIZE.getByIds(ids)).toEqual([]);
	});
});
