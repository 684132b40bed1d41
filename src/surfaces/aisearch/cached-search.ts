/** Results of searches from the cache, and those that are kept in it: only of requests that ask for it. */
import { parseJson } from "../../core/json.ts";
import { lookUp, withoutQuestion } from "../../retrieval/search/cache/cached-answers.ts";
import type { OpenInstance } from "../../retrieval/search/client/search-instances.ts";
import { questionOf, type SearchBody } from "../../retrieval/search/read-search.ts";
import type { NotedResult } from "./lexical-scores.ts";

interface CachedSearch<Result> {
	body: SearchBody;
	/** The first has the cache. Absent: one of them cannot be opened, so nothing is cached. */
	instances: readonly OpenInstance[] | undefined;
	now(): number;
	run(): Promise<NotedResult<Result>>;
}

export const isPaused = ({ record }: OpenInstance): boolean => record.config.paused;

/** Nothing has failed, so that the same request would have the same result. */
export const isComplete = ({ hidden = [], result }: NotedResult<object>): boolean =>
	hidden.length === 0 && !("errors" in result && result.errors);

export async function cachedSearch<Result extends object>({
	body,
	instances = [],
	now,
	run,
}: CachedSearch<Result>): Promise<NotedResult<Result>> {
	const { ai_search_options: { cache, ...options } = {}, messages } = body;
	const [instance, ...others] = instances;
	if (!cache?.enabled || !instance || instances.some(isPaused)) return run();
	const { query: question } = questionOf(body, "searchQueryMissing");
	const request = { kind: "search", options, messages: messages && withoutQuestion(messages) };
	const sent = { question, request, threshold: cache.cache_threshold, others };
	const lookup = await lookUp(sent, instance, now).catch(() => undefined);
	if (lookup?.found) {
		const { isLexical, text } = lookup.found;
		return { result: parseJson(text) as Result, isLexical, cacheStatus: "HIT" };
	}
	const noted = await run();
	const { isLexical, result } = noted;
	if (isComplete(noted)) await lookup?.keep({ text: JSON.stringify(result), isLexical });
	return { ...noted, cacheStatus: "MISS" };
}
