/** Lists of an instance: its items, their logs and chunks. */
import { parseJson } from "../../core/json.ts";
import { searchFailure } from "../../retrieval/search/failures.ts";
import { matchesFilter, readFilters } from "../../retrieval/search/filters.ts";
import { MAX_ITEMS } from "../../retrieval/search/limits.ts";
import type { ItemQuery, Page, SearchItem } from "../../retrieval/search/records.ts";
import { type InstanceCall, requireItem } from "./item-operations.ts";
import { chunkJson, itemLogJson } from "./json.ts";

export async function listItems(
	{ metadata_filter: filter, source, ...query }: ItemQuery & { metadata_filter?: string; source?: string },
	{ instance }: InstanceCall,
): Promise<Page<SearchItem>> {
	if (source !== undefined && source !== "builtin") return { values: [], total: 0 };
	if (filter === undefined) return instance.call((object) => object.items(query));
	const parsed = parseJson(filter);
	if (parsed === undefined) throw searchFailure("searchFilterInvalid", "metadata_filter: expected JSON");
	const conditions = readFilters(parsed, instance.record.config.custom_metadata);
	const all = await instance.call((object) => object.items({ ...query, page: 1, perPage: MAX_ITEMS }));
	const values = all.values.filter(({ indexed }) => matchesFilter(indexed, conditions));
	const start = (query.page - 1) * query.perPage;
	return { values: values.slice(start, start + query.perPage), total: values.length };
}

/** Throws 7041. */
export async function itemLogs(
	id: string,
	{ cursor, limit }: { cursor?: string; limit: number },
	call: InstanceCall,
): Promise<{ result: object[]; result_info: object }> {
	await requireItem(id, call);
	const before = cursor === undefined ? undefined : Number(cursor);
	const { logs, next } = await call.instance.call((object) => object.logs(id, limit, before));
	return {
		result: logs.map(itemLogJson),
		result_info: {
			...{ count: logs.length, per_page: limit, truncated: next !== null },
			cursor: next === null ? null : String(next),
		},
	};
}

/** Throws 7041. */
export async function itemChunks(
	id: string,
	range: { limit: number; offset: number },
	call: InstanceCall,
): Promise<{ result: object[]; result_info: object }> {
	const item = await requireItem(id, call);
	const { chunks, total } = await call.instance.call((object) => object.chunks(id, range));
	return {
		result: chunks.map((chunk) => chunkJson(chunk, item)),
		result_info: { count: chunks.length, total, ...range },
	};
}
