/** Pages of a list of items. */
import { MAX_CONTEXT_BYTES } from "../context-bytes.ts";
import type { Found, ItemsPage } from "../records.ts";
import { type ItemPlace, jsonBytes } from "./item-rows.ts";

interface PageContext {
	limit: number;
	/** Whether another row of the list has the id. It is asked once for each id. */
	isRepeated(row: ItemPlace): boolean;
	table: {
		meantBy(row: ItemPlace): ItemPlace | undefined;
		jsonOf(item: ItemPlace): string;
	};
}

/**
 * Only what the page has is read. An item that is larger than a page has one of its own. The next page begins after the first item of the
 * list with the id of the last one, so the last item has an id of its own. If no item before the limit has one, the page ends at the first
 * one after it. If none has one before `MAX_CONTEXT_BYTES`, there is no such page: it is too large.
 */
export function pageOfRows(
	rows: Iterable<ItemPlace>,
	{ limit, isRepeated, table }: PageContext,
): Found<ItemsPage> {
	const items: string[] = [];
	const shown: ItemPlace[] = [];
	const repeated = new Map<string, boolean>();
	const mayEndWith = (row: ItemPlace): boolean => {
		const known = repeated.get(row.id) ?? isRepeated(row);
		repeated.set(row.id, known);
		return !known;
	};
	let bytes = 0;
	let compared = 0;
	for (const row of rows) {
		const item = table.meantBy(row);
		if (!item) continue;
		bytes += jsonBytes(item);
		const isLarge = items.length > 0 && bytes > MAX_CONTEXT_BYTES;
		if (items.length >= limit || isLarge) {
			const last = shown.slice(compared).findLastIndex(mayEndWith);
			if (last >= 0)
				return { ok: true, value: { items: items.slice(0, compared + last + 1), hasMore: true } };
			if (isLarge) return { ok: false, missing: { kind: "item", id: row.id, tooLarge: true } };
			compared = shown.length;
		}
		shown.push(row);
		items.push(table.jsonOf(item));
	}
	return { ok: true, value: { items, hasMore: false } };
}
