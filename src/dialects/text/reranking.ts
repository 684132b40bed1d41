/** Reranking on the native routes: `{query, contexts: [{text}], top_k?}` to `{response: [{id, score}]}`, best first. */
import * as z from "zod";
import type { Reader, Writer } from "../dialect.ts";
import { outputValue } from "../output-value.ts";

const Inputs = z.object({
	query: z.string().min(1),
	// In the published schema `text` is optional. The product refuses an empty text (observed), so both are refused here.
	contexts: z.array(z.object({ text: z.string().min(1) })).min(1),
	top_k: z.int().min(1).optional(),
});

export const rerankReader: Reader = {
	schema: () => Inputs,
	read: ({ query, contexts, top_k }: z.output<typeof Inputs>) => ({
		task: "reranking",
		input: { query, contexts: contexts.map(({ text }) => text), top_k },
	}),
};

const Reply = z.object({ response: z.array(z.object({ id: z.int(), score: z.number() })) });

export const rerankWriter: Writer = {
	schema: Reply,
	write(answer, { call }) {
		const { ranks } = outputValue("reranking", answer);
		const max = call.task === "reranking" ? call.input.top_k : undefined;
		const value = { response: ranks.slice(0, max).map(({ id, score }) => ({ id, score })) };
		return { kind: "json", value: value satisfies z.input<typeof Reply> };
	},
};
