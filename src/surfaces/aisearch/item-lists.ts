/** Lists of an instance: its items, their logs and chunks. */
import * as z from "zod";
import { parseJson } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { searchFailure } from "../../retrieval/search/failures.ts";
import { readFilters } from "../../retrieval/search/filters.ts";
import { DEFAULT_LISTED, MAX_LISTED } from "../../retrieval/search/limits.ts";
import { ITEM_STATUSES, type ItemQuery, type Page, type SearchItem } from "../../retrieval/search/records.ts";
import { type InstanceCall, requireItem } from "./item-operations.ts";
import { chunkJson, itemLogJson } from "./json.ts";

/** Arguments of the methods of the bindings. REST has the same as texts of a query. */
export const PageListing = lazy(() =>
	z.object({
		page: z.int().min(1).default(1),
		per_page: z.int().min(1).max(MAX_LISTED).default(DEFAULT_LISTED),
	}),
);
export const itemFilters = lazy(() => ({
	status: z.enum(ITEM_STATUSES).optional(),
	sort_by: z.enum(["status", "modified_at"]).optional(),
	search: z.string().optional(),
	source: z.string().optional(),
	metadata_filter: z.string().optional(),
	item_id: z.string().optional(),
	key: z.string().optional(),
}));
export const ItemListing = lazy(() => PageListing().extend(itemFilters()));
export const LogRange = lazy(() =>
	z.object({
		limit: z.int().min(1).max(100).default(50),
		cursor: z
			.string()
			.regex(/^\d{1,15}$/)
			.optional(),
	}),
);
export const ChunkRange = lazy(() =>
	z.object({ limit: z.int().min(1).max(100).default(20), offset: z.int().min(0).default(0) }),
);

export async function listItems(
	{ metadata_filter: filter, ...query }: ItemQuery & { metadata_filter?: string },
	{ instance }: InstanceCall,
): Promise<Page<SearchItem>> {
	if (filter === undefined) return instance.call((object) => object.items(query));
	const parsed = parseJson(filter);
	if (parsed === undefined) throw searchFailure("searchFilterInvalid", "metadata_filter: expected JSON");
	const conditions = readFilters(parsed, instance.record.config.custom_metadata);
	return instance.call((object) => object.items({ ...query, filter: conditions }));
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
