/** The query of a list of items, and the list. */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { validate } from "../../dialects/validation/validation.ts";
import type { ItemsPage, ItemsQuery } from "../../responses/records.ts";
import { includesSeals, shownItem } from "../../responses/response-object.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

export const ItemsQuerySchema = lazy(() =>
	z.object({
		limit: z.coerce.number().int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
		after: z.string().optional(),
		order: z.enum(["asc", "desc"]).default("desc"),
	}),
);

export const readItemsQuery = (query: Record<string, string>): ItemsQuery =>
	validate(ItemsQuerySchema(), query);

/** `include` of a query, as OpenAI's SDKs write arrays, or repeated. */
export const includedIn = (url: string): string[] => {
	const { searchParams } = new URL(url);
	return [...searchParams.getAll("include"), ...searchParams.getAll("include[]")];
};

export const itemsOf = (items: readonly string[], include: readonly string[]): unknown[] =>
	items.map((json) => shownItem(JSON.parse(json), includesSeals(include)));

export function listOf({ items, hasMore }: ItemsPage, include: readonly string[]): object {
	const data = itemsOf(items, include) as { id: string }[];
	return {
		object: "list",
		data,
		first_id: data[0]?.id ?? null,
		last_id: data.at(-1)?.id ?? null,
		has_more: hasMore,
	};
}
