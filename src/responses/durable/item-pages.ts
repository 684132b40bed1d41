/** Pages of a list of items. */
import { MAX_CONTEXT_BYTES } from "../context-bytes.ts";
import type { ItemsPage } from "../records.ts";
import { type ItemPlace, jsonBytes } from "./item-rows.ts";

interface PageContext {
	limit: number;
	/** Whether another row of the list has the id. */
	isRepeated(row: ItemPlace): boolean;
	table: {
		meantBy(row: ItemPlace): ItemPlace | undefined;
		jsonOf(item: ItemPlace): string;
	};
}

/**
 * Only what the page has is read. An item that is larger than a page has one of its own. The next page begins after the id of the last item,
 * so a page ends with an item whose id no other one of the list has: it is shorter, or longer if it has none.
 */
export function pageOfRows(rows: Iterable<ItemPlace>, { limit, isRepeated, table }: PageContext): ItemsPage {
	const items: string[] = [];
	const shown: ItemPlace[] = [];
	let bytes = 0;
	let compared = 0;
	for (const row of rows) {
		const item = table.meantBy(row);
		if (!item) continue;
		bytes += jsonBytes(item);
		const isLarge = items.length > 0 && bytes > MAX_CONTEXT_BYTES;
		if (items.length >= limit || isLarge) {
			const end = shown.findLastIndex((other, index) => index >= compared && !isRepeated(other)) + 1;
			if (end > 0 || isLarge) return { items: items.slice(0, end || items.length), hasMore: true };
			compared = shown.length;
		}
		shown.push(row);
		items.push(table.jsonOf(item));
	}
	return { items, hasMore: false };
}
