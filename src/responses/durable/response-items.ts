/** Reads the items of responses and conversations, wherever they are stored. */
import type { Found, ItemsPage, ItemsQuery, Missing, Scope } from "../records.ts";
import { type ItemTable, ROW_BYTES } from "./item-table.ts";
import { inputOf, outputOf, type ResponseRow, type ResponseTable } from "./response-table.ts";
import type { StoredItem } from "./stored-text.ts";

/** Of all items before a request. The runtime sends at most 32 MiB in one call of an object. */
const MAX_CONTEXT_BYTES = 10_000_000;

export class ResponseItems {
	readonly #responses: ResponseTable;
	readonly #items: ItemTable;

	constructor(responses: ResponseTable, items: ItemTable) {
		this.#responses = responses;
		this.#items = items;
	}

	/** As JSON. An item that another one stands for may have been deleted. */
	input(row: ResponseRow): Found<string[]> {
		return this.#resolved(this.#inputOf(row));
	}

	/** As JSON. */
	output(row: ResponseRow): string[] {
		return [...this.#outputOf(row)].flatMap((item) => this.#items.jsonOf(item) ?? []);
	}

	/** The items of a chain, as JSON. The last response is the one that the request continues. */
	ofChain(rows: readonly ResponseRow[], last: string): Found<string[]> {
		return this.#resolved(this.#of(rows), {
			maxBytes: MAX_CONTEXT_BYTES,
			source: { kind: "response", id: last },
		});
	}

	/** As JSON. */
	ofConversation(id: string): Found<string[]> {
		return this.#resolved(this.#items.ofConversation(id), {
			maxBytes: MAX_CONTEXT_BYTES,
			source: { kind: "conversation", id },
		});
	}

	/**
	 * A page of the whole input of a response: the items of those that it continues, and its own. Items whose target was deleted are left
	 * out. `undefined`: it has no item `after`.
	 */
	inputPage(row: ResponseRow, { after, limit, order }: ItemsQuery, scope: Scope): ItemsPage | undefined {
		const items: string[] = [];
		let isBefore = after !== undefined;
		for (const item of this.#wholeInput(row, order, scope)) {
			if (isBefore) {
				isBefore = item.id !== after;
				continue;
			}
			const json = this.#items.jsonOf(item);
			if (json === undefined) continue;
			if (items.length === limit) return { items, hasMore: true };
			items.push(json);
		}
		return isBefore ? undefined : { items, hasMore: false };
	}

	/** Each response is read when its first item is. */
	*#wholeInput(row: ResponseRow, order: ItemsQuery["order"], scope: Scope): Iterable<StoredItem> {
		const rows = this.#responses.known(row, scope, Date.now());
		if (order === "desc") rows.reverse();
		for (const each of rows) {
			const items = [...(each.id === row.id ? this.#inputOf(each) : this.#of([each]))];
			yield* order === "desc" ? items.reverse() : items;
		}
	}

	*#of(rows: Iterable<ResponseRow>): Iterable<StoredItem> {
		for (const row of rows) {
			const { input, output } = this.#responses.textOf(row);
			yield* input;
			yield* this.#items.itemsOf(inputOf(row));
			yield* output;
			yield* this.#items.itemsOf(outputOf(row));
		}
	}

	*#inputOf(row: ResponseRow): Iterable<StoredItem> {
		yield* this.#responses.textOf(row).input;
		yield* this.#items.itemsOf(inputOf(row));
	}

	*#outputOf(row: ResponseRow): Iterable<StoredItem> {
		yield* this.#responses.textOf(row).output;
		yield* this.#items.itemsOf(outputOf(row));
	}

	/** `source`: what is too large if the items have more than `maxBytes`. */
	#resolved(
		items: Iterable<StoredItem>,
		bound?: { maxBytes: number; source: Pick<Missing, "kind" | "id"> },
	): Found<string[]> {
		const value: string[] = [];
		let bytes = 0;
		for (const item of items) {
			const json = this.#items.jsonOf(item);
			if (json === undefined) return { ok: false, missing: { kind: "item", id: item.id } };
			bytes += Buffer.byteLength(json) + ROW_BYTES;
			if (bound && bytes > bound.maxBytes) return { ok: false, missing: { ...bound.source, tooLarge: true } };
			value.push(json);
		}
		return { ok: true, value };
	}
}
