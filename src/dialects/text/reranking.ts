/** Reranking on the native routes: `{query, contexts: [{text}], top_k?}` to `{response: [{id, score}]}`, best first. */
import * as z from "zod";
import { fieldsReader } from "../fields.ts";
import { jsonWriter } from "../output-value.ts";

export const rerankReader = fieldsReader(
	{
		query: z.string().min(1),
		// In the published schema `text` is optional. The product refuses an empty text (observed), so both are refused here.
		contexts: z.array(z.object({ text: z.string().min(1) })).min(1),
		top_k: z.int().min(1).optional(),
	},
	({ query, contexts, top_k }) => ({
		task: "reranking",
		input: { query, contexts: contexts.map(({ text }) => text), top_k },
	}),
);

export const rerankWriter = jsonWriter(
	"reranking",
	z.object({ response: z.array(z.object({ id: z.int(), score: z.number() })) }),
	({ ranks }, { call }) => {
		const max = call.task === "reranking" ? call.input.top_k : undefined;
		return { response: ranks.slice(0, max).map(({ id, score }) => ({ id, score })) };
	},
);
