/**
 * A search of one instance: the query is rewritten, the best chunks by vector and by keyword are found, fused, boosted and reranked, and the
 * first ones are returned.
 *
 * The threshold applies to the score of the vector, as in the product: a chunk that only the keywords have found has none.
 */
import { type AiError, toAiError } from "../../core/errors.ts";
import type { OpenInstance } from "./client/search-instances.ts";
import { searchFailure } from "./failures.ts";
import { boosted, fused, type RankedChunk, sorted } from "./fusion.ts";
import { keywordWords } from "./keyword-words.ts";
import { CANDIDATES } from "./limits.ts";
import { embedQuery, rerank, rewriteQuery, type SearchModels } from "./models.ts";
import { type SearchPlan, textOf } from "./read-search.ts";
import type { FoundChunk, KeywordMatch } from "./records.ts";
import type { SearchRoomServices } from "./services.ts";
import { needsTrigram } from "./unspaced-scripts.ts";
import { openVectors } from "./vectors.ts";

export interface SearchContext {
	instance: OpenInstance;
	models: SearchModels;
	services: SearchRoomServices;
	/** Called with a failure that the result does not show. */
	onHidden?(failure: AiError): void;
	/** Called with a sentence for people. */
	onNote?(note: string): void;
}

/** A chunk of an answer, with the names of the product. */
export interface SearchedChunk {
	id: string;
	type: "text";
	score: number;
	/** Empty with `metadata_only`. */
	text: string;
	item: { key: string; timestamp: number; metadata: Record<string, unknown> };
	scoring_details: {
		vector_score?: number;
		keyword_score?: number;
		vector_rank?: number;
		keyword_rank?: number;
		reranking_score?: number;
		fusion_method?: "rrf" | "max";
	};
}

export interface SearchResult {
	search_query: string;
	chunks: SearchedChunk[];
}

/** Throws 7032 for an instance that is paused, and the errors of the models that are not hidden. */
export async function searchInstance(plan: SearchPlan, context: SearchContext): Promise<SearchResult> {
	if (context.instance.record.config.paused) throw searchFailure("searchPaused");
	try {
		return await search(plan, context);
	} catch (thrown) {
		context.onHidden?.(hidden(thrown, plan));
		return { search_query: plan.query, chunks: [] };
	}
}

const FIRST_FAULT_STATUS = 500;

/** A failure of an engine or a store, if the plan hides it. Throws others: mistakes of the request and of the configuration, and limits. */
function hidden(thrown: unknown, { hidesFailure }: SearchPlan): AiError {
	const error = toAiError(thrown);
	if (!hidesFailure || error.status < FIRST_FAULT_STATUS) throw thrown;
	return error;
}

/** The matches of each method. One that fails is left out if the other one does not, and the plan hides it. */
async function matchesOf(query: string, plan: SearchPlan, context: SearchContext) {
	const { types } = plan;
	const [vector, keyword] = await Promise.allSettled([
		types.vector ? byVector(query, plan, context) : undefined,
		types.keyword ? byKeyword(query, plan, context) : undefined,
	]);
	const failures = [vector, keyword].flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
	const methods = Number(types.vector) + Number(types.keyword);
	if (failures.length === methods) throw failures[0];
	for (const failure of failures) context.onHidden?.(hidden(failure, plan));
	return {
		vector: vector.status === "fulfilled" ? vector.value : undefined,
		keyword: keyword.status === "fulfilled" ? keyword.value : undefined,
	};
}

async function search(plan: SearchPlan, context: SearchContext): Promise<SearchResult> {
	const { call } = context.instance;
	const history = plan.history.map((message) => ({ role: message.role, text: textOf(message) }));
	const query = plan.rewrite
		? await rewriteQuery(plan.rewrite, { history, query: plan.query }, context.models)
		: plan.query;
	const { keyword, vector } = await matchesOf(query, plan, context);
	const ranked = fused({ vector, keyword }, plan.fusion);
	const texts = new Map<string, FoundChunk>();
	for (const chunk of await call((object) => object.found(ranked.map(({ id }) => id))))
		texts.set(chunk.id, chunk);
	// The index may still have vectors of items that were deleted or replaced.
	const found = ranked.flatMap((rank) => {
		const chunk = texts.get(rank.id);
		return chunk ? [{ ...chunk, ...rank }] : [];
	});
	const best = await reranked(query, boosted(found, plan.boosts), plan, context);
	const chunks = best.slice(0, plan.maxResults);
	const expanded =
		plan.expansion > 0 && !plan.metadataOnly
			? await call((object) =>
					object.expanded(
						chunks.map(({ id }) => id),
						plan.expansion,
					),
				)
			: [];
	const method = vector && keyword ? plan.fusion : undefined;
	return {
		search_query: query,
		chunks: chunks.map((chunk, index) =>
			chunkJson(chunk, { text: plan.metadataOnly ? "" : (expanded[index] ?? chunk.text), method }),
		),
	};
}

async function byVector(
	query: string,
	{ filter, threshold }: SearchPlan,
	{ instance, models, services }: SearchContext,
): Promise<{ id: string; score: number }[]> {
	const { account, record } = instance;
	const vector = await embedQuery(record.config.embedding_model, query, models);
	const store = await openVectors(account, record, record.indexVersion, services);
	// No item has vectors yet.
	if (!store) return [];
	const matches = await store.query({
		vector,
		topK: CANDIDATES,
		filter,
		returnValues: false,
		returnMetadata: "none",
	});
	return matches.filter(({ score }) => score >= threshold);
}

const NEEDS_TRIGRAM =
	'No keyword matches: the tokenizer "porter" needs spaces between words. For Chinese, Japanese or Thai, set indexing_options.keyword_tokenizer to "trigram"';

async function byKeyword(
	query: string,
	{ filter, matchMode: mode }: SearchPlan,
	{ instance, onNote }: SearchContext,
): Promise<KeywordMatch[]> {
	const tokenizer = instance.record.config.indexing_options.keyword_tokenizer;
	const words = keywordWords(query, tokenizer);
	if (words.length === 0) return [];
	const matches = await instance.call((object) =>
		object.keywords({ words, mode, filter, limit: CANDIDATES }),
	);
	if (matches.length === 0 && tokenizer === "porter" && needsTrigram(query)) onNote?.(NEEDS_TRIGRAM);
	return matches;
}

type Candidate = FoundChunk & RankedChunk;

async function reranked(
	query: string,
	chunks: Candidate[],
	{ reranking }: SearchPlan,
	{ models }: SearchContext,
): Promise<Candidate[]> {
	if (!reranking || chunks.length === 0) return chunks;
	const scores = await rerank(reranking.model, { query, texts: chunks.map(({ text }) => text) }, models);
	const scored = chunks.map((chunk, index) => ({
		...chunk,
		score: scores[index] ?? 0,
		rerankingScore: scores[index] ?? 0,
	}));
	return sorted(scored.filter(({ score }) => score >= reranking.threshold));
}

const chunkJson = (
	{
		id,
		key,
		keywordRank,
		keywordScore,
		metadata,
		rerankingScore,
		score,
		timestamp,
		vectorRank,
		vectorScore,
	}: Candidate,
	{ method, text }: { method: "rrf" | "max" | undefined; text: string },
): SearchedChunk => ({
	...{ id, type: "text", score, text, item: { key, timestamp, metadata } },
	scoring_details: {
		...(vectorScore !== undefined && { vector_score: vectorScore, vector_rank: vectorRank ?? 0 }),
		...(keywordScore !== undefined && { keyword_score: keywordScore, keyword_rank: keywordRank ?? 0 }),
		...(rerankingScore !== undefined && { reranking_score: rerankingScore }),
		...(method && { fusion_method: method }),
	},
});
