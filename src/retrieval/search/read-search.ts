/** Reads the request of a search or of a chat, and completes it by the configuration of the instance. */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import type { FilterCondition } from "../vectors/records.ts";
import { CACHE_THRESHOLD_NAMES } from "./cache/shingles.ts";
import { searchFailure } from "./failures.ts";
import { readFilters } from "./filters.ts";
import { checkBoosts } from "./fusion.ts";
import { Identifier } from "./identifier.ts";
import {
	DEFAULT_THRESHOLD,
	MAX_EXPANSION,
	MAX_QUERY_CHARACTERS,
	MAX_RESULTS,
	MAX_SEARCHED_INSTANCES,
} from "./limits.ts";
import { Boosts, DEFAULT_RERANKER } from "./read-config.ts";
import type { Boost, InstanceConfig } from "./records.ts";

const Share = lazy(() => z.number().min(0).max(1));

const Retrieval = lazy(() =>
	z.object({
		retrieval_type: z.string().optional(),
		fusion_method: z.enum(["rrf", "max"]).optional(),
		keyword_match_mode: z.enum(["and", "or"]).optional(),
		match_threshold: Share().optional(),
		max_num_results: z.int().min(1).max(MAX_RESULTS).optional(),
		filters: z.record(z.string(), z.unknown()).nullish(),
		context_expansion: z.int().min(0).max(MAX_EXPANSION).optional(),
		metadata_only: z.boolean().optional(),
		return_on_failure: z.boolean().optional(),
		boost_by: Boosts().optional(),
	}),
);

const Options = lazy(() =>
	z.object({
		retrieval: Retrieval().optional(),
		query_rewrite: z
			.object({
				enabled: z.boolean().optional(),
				model: z.string().optional(),
				rewrite_prompt: z.string().max(MAX_QUERY_CHARACTERS).optional(),
			})
			.optional(),
		reranking: z
			.object({
				enabled: z.boolean().optional(),
				model: z.string().optional(),
				match_threshold: Share().optional(),
			})
			.optional(),
		cache: z
			.object({
				enabled: z.boolean().optional(),
				cache_threshold: z.enum(CACHE_THRESHOLD_NAMES).optional(),
			})
			.optional(),
		instance_ids: z.array(Identifier()).optional(),
	}),
);

/** The content of a message: a text, or parts of which those with a text are read. */
const Content = lazy(() =>
	z.union([z.string(), z.array(z.looseObject({ text: z.string().optional() })), z.null()]).optional(),
);
const Messages = lazy(() =>
	z.array(
		z.looseObject({
			role: z.enum(["system", "developer", "user", "assistant", "tool"]),
			content: Content(),
		}),
	),
);

export const SearchBody = lazy(() =>
	z.object({
		query: z.string().max(MAX_QUERY_CHARACTERS).optional(),
		messages: Messages().optional(),
		ai_search_options: Options().optional(),
	}),
);
export const ChatBody = lazy(() =>
	z.looseObject({
		messages: Messages().optional(),
		model: z.string().nullish(),
		stream: z.boolean().nullish(),
		ai_search_options: Options().optional(),
	}),
);
export type SearchBody = z.output<ReturnType<typeof SearchBody>>;
export type ChatBody = z.output<ReturnType<typeof ChatBody>>;
export type ChatMessage = z.output<ReturnType<typeof Messages>>[number];

/** A search with all its options. */
export interface SearchPlan {
	query: string;
	/** For a rewriting: those before the query. Empty: the query is not rewritten. */
	history: readonly ChatMessage[];
	types: { vector: boolean; keyword: boolean };
	fusion: "rrf" | "max";
	matchMode: "and" | "or";
	threshold: number;
	maxResults: number;
	filter: FilterCondition[];
	expansion: number;
	metadataOnly: boolean;
	/** Failures of engines and stores give the result without them. */
	hidesFailure: boolean;
	boosts: Boost[];
	rewrite?: { model: string; prompt?: string | undefined };
	reranking?: { model: string; threshold: number };
}

type MissingQuery = "chatQueryMissing" | "searchQueryMissing";

/** `query`: what is searched. `history`: the messages before it. Throws 7038 or 7039. */
export function questionOf(
	{ messages, query }: SearchBody,
	missing: MissingQuery,
): Pick<SearchPlan, "query" | "history"> {
	if (query !== undefined && messages !== undefined)
		throw searchFailure(missing, "expected query or messages, and not both");
	const { history, text } = queryOf(query, messages ?? []);
	if (text.trim() === "") throw searchFailure(missing);
	return { query: text.slice(0, MAX_QUERY_CHARACTERS).toWellFormed(), history };
}

/** Throws 7038 or 7039, 7058, 7070. */
export function searchPlan(body: SearchBody, config: InstanceConfig, missing: MissingQuery): SearchPlan {
	const { query_rewrite: rewrite = {}, reranking = {}, retrieval = {} } = body.ai_search_options ?? {};
	const { history, query } = questionOf(body, missing);
	const rewrites = (rewrite.enabled ?? config.rewrite_query) && history.some(({ role }) => role === "user");
	const reranks = reranking.enabled ?? config.reranking;
	return {
		query,
		history,
		types: typesOf(retrieval.retrieval_type, config),
		fusion: retrieval.fusion_method ?? config.fusion_method,
		matchMode: retrieval.keyword_match_mode ?? config.retrieval_options.keyword_match_mode,
		threshold: retrieval.match_threshold ?? config.score_threshold,
		maxResults: retrieval.max_num_results ?? config.max_num_results,
		filter: readFilters(retrieval.filters, config.custom_metadata),
		expansion: retrieval.context_expansion ?? 0,
		metadataOnly: retrieval.metadata_only ?? false,
		hidesFailure: retrieval.return_on_failure ?? true,
		boosts: checkBoosts(retrieval.boost_by ?? config.retrieval_options.boost_by, config.custom_metadata),
		...(rewrites && {
			rewrite: { model: rewrite.model || config.rewrite_model, prompt: rewrite.rewrite_prompt },
		}),
		...(reranks && {
			reranking: {
				model: reranking.model || config.reranking_model || DEFAULT_RERANKER,
				threshold: reranking.match_threshold ?? DEFAULT_THRESHOLD,
			},
		}),
	};
}

function queryOf(
	query: string | undefined,
	messages: readonly ChatMessage[],
): { text: string; history: readonly ChatMessage[] } {
	if (query !== undefined) return { text: query, history: [] };
	const at = messages.findLastIndex(({ role }) => role === "user");
	const last = messages[at];
	return last ? { text: textOf(last), history: messages.slice(0, at) } : { text: "", history: [] };
}

export const textOf = ({ content }: ChatMessage): string =>
	typeof content === "string" ? content : (content ?? []).flatMap(({ text }) => text ?? []).join("\n");

const TYPES = ["vector", "keyword", "hybrid"];

function typesOf(type: string | undefined, { index_method: index }: InstanceConfig): SearchPlan["types"] {
	if (type === undefined) return index;
	if (!TYPES.includes(type)) throw searchFailure("searchTypeInvalid", `expected one of ${TYPES.join(", ")}`);
	const types = { vector: type !== "keyword", keyword: type !== "vector" };
	if ((types.vector && !index.vector) || (types.keyword && !index.keyword))
		throw searchFailure("searchTypeInvalid", `index_method of the instance has no ${type} search`);
	return types;
}

/** The instances of a search in several. Throws 7074. */
export function searchedInstances({
	ai_search_options: options,
}: Pick<SearchBody, "ai_search_options">): string[] {
	const ids = [...new Set(options?.instance_ids ?? [])];
	if (ids.length > 0 && ids.length <= MAX_SEARCHED_INSTANCES) return ids;
	throw searchFailure(
		"searchedTooMany",
		`ai_search_options.instance_ids: expected 1 to ${MAX_SEARCHED_INSTANCES} instances`,
	);
}
