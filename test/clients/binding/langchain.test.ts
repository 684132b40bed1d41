/** The embeddings of `@langchain/cloudflare`, which know no other way than the binding. */
import { CloudflareWorkersAIEmbeddings } from "@langchain/cloudflare";
import { describe, expect, it } from "vitest";
import { AI } from "./ai.ts";

describe("CloudflareWorkersAIEmbeddings", () => {
	it("embeds a query, and documents in batches", async () => {
		const embeddings = new CloudflareWorkersAIEmbeddings({
			binding: AI,
			model: "@cf/baai/bge-m3",
			batchSize: 2,
		});
		const query = await embeddings.embedQuery("a small\ncat");
		expect(query).toHaveLength(1024);
		const documents = await embeddings.embedDocuments(["quantum physics", "a small cat", "the sea"]);
		expect(documents).toHaveLength(3);
		expect(documents[1]).toEqual(query);
		const likeness = documents.map((document) =>
			document.reduce((sum, value, i) => sum + value * (query[i] ?? 0), 0),
		);
		expect(likeness.indexOf(Math.max(...likeness))).toBe(1);
	});
});
