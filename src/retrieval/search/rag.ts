/** The older API of AI Search, AutoRAG: its requests, and its answers. */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { answerPrompt } from "./answer.ts";
import { MAX_QUERY_CHARACTERS, MAX_RESULTS } from "./limits.ts";
import { contentOf, serving } from "./models.ts";
import { type SearchPlan, searchPlan } from "./read-search.ts";
import type { InstanceConfig } from "./records.ts";
import { type SearchContext, type SearchResult, searchInstance } from "./search.ts";

const Share = lazy(() => z.number().min(0).max(1));

export const RagBody = lazy(() =>
	z.object({
		query: z.string().max(MAX_QUERY_CHARACTERS),
		filters: z.record(z.string(), z.unknown()).nullish(),
		max_num_results: z.int().min(1).max(MAX_RESULTS).optional(),
		ranking_options: z
			.object({ ranker: z.string().optional(), score_threshold: Share().optional() })
			.optional(),
		reranking: z.object({ enabled: z.boolean().optional(), model: z.string().optional() }).optional(),
		rewrite_query: z.boolean().optional(),
		model: z.string().optional(),
		system_prompt: z.string().optional(),
		stream: z.boolean().optional(),
	}),
);
export type RagBody = z.output<ReturnType<typeof RagBody>>;

/** A query alone can be rewritten, other than in the current API. */
function planOf(body: RagBody, config: InstanceConfig): SearchPlan {
	const { filters, max_num_results, query, ranking_options: ranking, reranking, rewrite_query } = body;
	const retrieval = { filters, max_num_results, match_threshold: ranking?.score_threshold };
	const options = { retrieval, ...(reranking && { reranking }) };
	const request = searchPlan({ query, ai_search_options: options }, config, "searchQueryMissing");
	// The older API has no option that hides failures.
	const plan = { ...request, hidesFailure: false };
	const rewrites = rewrite_query ?? config.rewrite_query;
	return rewrites ? { ...plan, rewrite: { model: config.rewrite_model } } : plan;
}

export async function searchRag(body: RagBody, context: SearchContext): Promise<object> {
	return pageOf(await searchInstance(planOf(body, context.instance.record.config), context));
}

/** `answer`: the search with `response`, the answer of a model; with `stream` the events of the model. `isEmpty`: nothing was found. */
export async function answerRag(
	body: RagBody,
	context: SearchContext,
): Promise<{ answer: object | ReadableStream; isEmpty: boolean }> {
	const { config } = context.instance.record;
	const result = await searchInstance(planOf(body, config), context);
	const isEmpty = result.chunks.length === 0;
	const field = body.model ? "model" : "ai_search_model";
	const model = body.model || config.ai_search_model;
	const messages = await answerPrompt({
		body: { messages: [{ role: "user", content: body.query }] },
		chunks: result.chunks,
		systemPrompt: body.system_prompt,
	});
	if (body.stream) {
		const events = await serving(field, () => context.models.native(model, { messages, stream: true }));
		return { answer: events as ReadableStream, isEmpty };
	}
	const completion = await serving(field, async () =>
		(await context.models.openAi("/chat/completions", { model, messages })).json(),
	);
	return { answer: { ...pageOf(result), response: contentOf(completion) }, isEmpty };
}

const pageOf = ({ chunks, search_query }: SearchResult): object => ({
	object: "vector_store.search_results.page",
	search_query,
	data: chunks.map(({ id, item, score, text }) => ({
		file_id: id.slice(0, id.indexOf(".")),
		filename: item.key,
		score,
		attributes: { modified_date: item.timestamp, ...item.metadata },
		content: [{ id, type: "text", text }],
	})),
	has_more: false,
	next_page: null,
});
