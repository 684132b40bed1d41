/**
 * `POST /rerank`, which OpenAI does not have, in the common form of Jina, Cohere, vLLM, SGLang and llama.cpp
 * (docs.cohere.com/reference/rerank).
 */
import * as z from "zod";
import type { Dialect } from "../dialect.ts";
import { nullAsAbsent } from "../fields.ts";
import { jsonWriter } from "../output-value.ts";

const Document = z.union([z.string().min(1), z.looseObject({ text: z.string().min(1) })]);

const Inputs = nullAsAbsent(
	z.object({
		model: z.string(),
		query: z.string().min(1),
		documents: z.array(Document).min(1),
		top_n: z.int().min(1).optional(),
		return_documents: z.boolean().optional(),
	}),
);
type Inputs = z.output<typeof Inputs>;

const Reply = z.object({
	id: z.string(),
	model: z.string(),
	/** Best first. */
	results: z.array(
		z.object({
			/** The index of the document in the request. */
			index: z.int(),
			relevance_score: z.number(),
			document: z.object({ text: z.string() }).optional(),
		}),
	),
});

const textOf = (document: z.output<typeof Document>): string =>
	typeof document === "string" ? document : document.text;

export const rerankRoute: Dialect = {
	reader: {
		schema: () => Inputs,
		read: ({ query, documents, top_n }: Inputs) => ({
			task: "reranking",
			input: {
				query,
				contexts: documents.map(textOf),
				...(top_n !== undefined && { top_k: top_n }),
			},
		}),
	},
	writer: jsonWriter("reranking", Reply, ({ ranks }, { inputs, model, requestId }) => {
		const { documents, top_n, return_documents } = inputs as Inputs; // the reader parsed it
		const results = ranks.slice(0, top_n).map(({ id, score }) => {
			const document = return_documents ? documents[id] : undefined;
			return {
				index: id,
				relevance_score: score,
				...(document !== undefined && { document: { text: textOf(document) } }),
			};
		});
		return { id: requestId, model: model.id, results };
	}),
};
