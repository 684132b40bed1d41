/** A search of several instances of a namespace. The failure of one does not affect the others. */
import { toAiError } from "../../core/errors.ts";
import { sorted } from "./fusion.ts";
import { DEFAULT_RESULTS } from "./limits.ts";
import type { SearchedChunk, SearchResult } from "./search.ts";

/** The product's text. */
const FAILED = "search_failed";

export interface MultiResult {
	search_query: string;
	chunks: (SearchedChunk & { instance_id: string })[];
	errors?: { instance_id: string; message: string }[];
}

/** Throws the first failure if no instance can be searched. */
export async function searchSeveral(
	ids: readonly string[],
	search: (id: string) => Promise<SearchResult>,
	maxResults = DEFAULT_RESULTS,
): Promise<MultiResult> {
	const results = await Promise.allSettled(ids.map(search));
	const chunks: MultiResult["chunks"] = [];
	const errors: NonNullable<MultiResult["errors"]> = [];
	let query: string | undefined;
	for (const [index, result] of results.entries()) {
		const id = ids[index] ?? "";
		if (result.status === "rejected")
			errors.push({ instance_id: id, message: `${FAILED}: ${toAiError(result.reason).description}` });
		else {
			query ??= result.value.search_query;
			chunks.push(...result.value.chunks.map((chunk) => ({ ...chunk, instance_id: id })));
		}
	}
	const [first] = results;
	if (query === undefined && first?.status === "rejected") throw first.reason;
	return {
		search_query: query ?? "",
		chunks: sorted(chunks).slice(0, maxResults),
		...(errors.length > 0 && { errors }),
	};
}
