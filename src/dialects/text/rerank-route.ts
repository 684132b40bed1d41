/**
 * `POST /rerank`, which OpenAI does not have, in the common form of Jina, Cohere, vLLM, SGLang and llama.cpp
 * (docs.cohere.com/reference/rerank).
 */
import * as z from "zod";
import type { Dialect } from "../dialect.ts";
import { nullAsAbsent } from "../fields.ts";
import { outputValue } from "../output-value.ts";

const Document = z.union([z.string().min(1), z.looseObject({ text: z.string().min(1) })]);

const RerankInputs = nullAsAbsent(
	z.object({
		model: z.string(),
		query: z.string().min(1),
		documents: z.array(Document).min(1),
		top_n: z.int().min(1).optional(),
		return_documents: z.boolean().optional(),
	}),
);
type RerankInputs = z.output<typeof RerankInputs>;

/** Cohere's clients require it. `/v1/rerank` is version 1 of Cohere's API. */
const META = { api_version: { version: "1" } };

const textOf = (document: z.output<typeof Document>): string =>
	typeof document === "string" ? document : document.text;

export const rerankRoute: Dialect = {
	reader: {
		schema: () => RerankInputs,
		read: ({ query, documents, top_n }: RerankInputs) => ({
			task: "reranking",
			input: {
				query,
				contexts: documents.map(textOf),
				...(top_n !== undefined && { top_k: top_n }),
			},
		}),
	},
	writer: {
		write(answer, { inputs, model, requestId }) {
			const { documents, top_n, return_documents } = inputs as RerankInputs; // the reader parsed it
			const { ranks } = outputValue("reranking", answer);
			// Best first. `index` is the document's in the request.
			const results = ranks.slice(0, top_n).map(({ id, score }) => {
				const document = return_documents ? documents[id] : undefined;
				return {
					index: id,
					relevance_score: score,
					...(document !== undefined && { document: { text: textOf(document) } }),
				};
			});
			return { kind: "json", value: { id: requestId, model: model.id, results, meta: META } };
		},
	},
};
