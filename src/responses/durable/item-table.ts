/**
 * The items of an account's conversations, and of their responses: those of a response are consecutive rows, its input before its output.
 * An item of a request with a conversation belongs to both, and its row dies with the later of them. Items of other responses are in the
 * rows of their responses.
 */

import type { Found, ItemRecord, ItemsPage, ItemsQuery, Scope } from "../records.ts";
import type { LongTexts } from "./long-texts.ts";
import type { ItemRange, ResponseTable } from "./response-table.ts";
import type { StoredItem } from "./stored-text.ts";

/**
 * Written when a response of a conversation ends, and when items are added to one. `held`: 1 while the item's response exists. `reference`: 1
 * if `id` is that of another row, which this one stands for. A row dies when it has neither a response nor a conversation.
 */
const ITEMS = `CREATE TABLE IF NOT EXISTS items (
	seq INTEGER PRIMARY KEY,
	bytes INTEGER NOT NULL,
	id TEXT NOT NULL,
	owner TEXT NOT NULL,
	reference INTEGER NOT NULL,
	held INTEGER NOT NULL,
	conversation TEXT,
	json TEXT NOT NULL
)`;
const INDEXES = `CREATE INDEX IF NOT EXISTS items_by_id ON items (id);
CREATE INDEX IF NOT EXISTS items_by_conversation ON items (conversation, seq) WHERE conversation IS NOT NULL`;

/** Counted for a row, in addition to its JSON. */
export const ROW_BYTES = 256;

/** The stored bytes of items. */
export const itemBytes = (items: readonly ItemRecord[]): number =>
	items.reduce((sum, { json }) => sum + Buffer.byteLength(json) + ROW_BYTES, 0);

/** Shorter items have no other rows. */
const LONG_BYTES = 500_000;

const textKey = (seq: number): string => `items/${seq}`;

interface ItemRow extends Record<string, SqlStorageValue> {
	seq: number;
	id: string;
	owner: string;
	reference: number;
	json: string;
}

const COLUMNS = "seq, id, owner, reference, json";

/** References were checked when they were stored. */
const WHOLE_ACCOUNT: Scope = { owner: "", all: true };

/** Of deleted rows. */
export interface Freed {
	bytes: number;
	items: number;
}

interface NewItems {
	owner: string;
	conversation?: string | undefined;
	/** Whether a response has them. */
	held: boolean;
}

export class ItemTable {
	readonly #sql: SqlStorage;
	readonly #texts: LongTexts;
	readonly #responses: Pick<ResponseTable, "findItem">;
	#last: number;

	constructor(sql: SqlStorage, texts: LongTexts, responses: Pick<ResponseTable, "findItem">) {
		this.#sql = sql;
		this.#texts = texts;
		this.#responses = responses;
		sql.exec(`${ITEMS}; ${INDEXES}`);
		this.#last = sql.exec<{ last: number | null }>("SELECT max(seq) AS last FROM items").one().last ?? 0;
	}

	totals(): { bytes: number; items: number } {
		const { bytes, items } = this.#sql
			.exec<{ bytes: number | null; items: number }>(
				"SELECT sum(bytes) AS bytes, count(*) AS items FROM items",
			)
			.one();
		return { bytes: bytes ?? 0, items };
	}

	/** Returns the rows and their bytes. `last` is less than `first` if there are no items. */
	insert(
		items: readonly ItemRecord[],
		{ owner, conversation, held }: NewItems,
	): ItemRange & { bytes: number } {
		const first = this.#last + 1;
		let total = 0;
		for (const { id, json, reference } of items) {
			const bytes = Buffer.byteLength(json) + ROW_BYTES;
			total += bytes;
			this.#sql.exec(
				"INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
				...[++this.#last, bytes, id, owner, Number(reference ?? false), Number(held)],
				conversation ?? null,
				this.#texts.write(textKey(this.#last), json),
			);
		}
		return { first, last: this.#last, bytes: total };
	}

	*itemsOf({ first, last }: ItemRange): Iterable<StoredItem> {
		yield* this.#items("seq BETWEEN ? AND ?", first, last);
	}

	*ofConversation(id: string): Iterable<StoredItem> {
		yield* this.#items("conversation = ?", id);
	}

	*#items(condition: string, ...values: SqlStorageValue[]): Iterable<StoredItem> {
		const rows = this.#sql.exec<ItemRow>(
			`SELECT ${COLUMNS} FROM items WHERE ${condition} ORDER BY seq`,
			...values,
		);
		for (const row of rows) yield { id: row.id, ...(!row.reference && { json: this.#text(row) }) };
	}

	/** The rows become part of a conversation. */
	join({ first, last }: ItemRange, conversation: string): void {
		this.#sql.exec("UPDATE items SET conversation = ? WHERE seq BETWEEN ? AND ?", conversation, first, last);
	}

	/** The JSON of an item, or of the item that it stands for, which may have been deleted. */
	jsonOf({ id, json }: StoredItem): string | undefined {
		if (json !== undefined) return json;
		const found = this.find(id, WHOLE_ACCOUNT);
		return found.ok ? found.value : undefined;
	}

	#jsonOf(row: ItemRow): string | undefined {
		return this.jsonOf(row.reference ? { id: row.id } : { id: row.id, json: this.#text(row) });
	}

	#text({ seq, json }: ItemRow): string {
		return this.#texts.read(textKey(seq), json);
	}

	/** The latest item with the id: of a response, or otherwise a row that is an item itself. */
	find(id: string, scope: Scope): Found<string> {
		const held = this.#responses.findItem(id, scope, Date.now());
		if (held.ok) return held;
		let { foreign } = held.missing;
		const rows = this.#sql.exec<ItemRow>(
			`SELECT ${COLUMNS} FROM items WHERE id = ? AND reference = 0 ORDER BY seq DESC`,
			id,
		);
		for (const row of rows) {
			if (scope.all || row.owner === scope.owner) return { ok: true, value: this.#text(row) };
			foreign = true;
		}
		return { ok: false, missing: { kind: "item", id, ...(foreign && { foreign }) } };
	}

	/** A page of a conversation. An item whose target was deleted is left out. `undefined`: it has no item `after`. */
	page(conversation: string, { after, limit, order }: ItemsQuery): ItemsPage | undefined {
		const [compared, sort] = order === "asc" ? [">", "ASC"] : ["<", "DESC"];
		let start = order === "asc" ? 0 : Number.MAX_SAFE_INTEGER;
		if (after !== undefined) {
			const found = this.#sql
				.exec<{ seq: number }>(
					"SELECT seq FROM items WHERE conversation = ? AND id = ? ORDER BY seq DESC LIMIT 1",
					conversation,
					after,
				)
				.toArray()[0];
			if (!found) return undefined;
			start = found.seq;
		}
		const rows = this.#sql.exec<ItemRow>(
			`SELECT ${COLUMNS} FROM items WHERE conversation = ? AND seq ${compared} ? ORDER BY seq ${sort}`,
			conversation,
			start,
		);
		const items: string[] = [];
		for (const row of rows) {
			const json = this.#jsonOf(row);
			if (json === undefined) continue;
			if (items.length === limit) return { items, hasMore: true };
			items.push(json);
		}
		return { items, hasMore: false };
	}

	inConversation(conversation: string, id: string): string | undefined {
		const row = this.#sql
			.exec<ItemRow>(
				`SELECT ${COLUMNS} FROM items WHERE conversation = ? AND id = ? ORDER BY seq DESC LIMIT 1`,
				conversation,
				id,
			)
			.toArray()[0];
		return row && this.#jsonOf(row);
	}

	/** The response of the rows is deleted. */
	release({ first, last }: ItemRange): Freed {
		this.#sql.exec(
			"UPDATE items SET held = 0 WHERE seq BETWEEN ? AND ? AND conversation IS NOT NULL",
			first,
			last,
		);
		return this.#delete("seq BETWEEN ? AND ? AND conversation IS NULL", first, last);
	}

	/** The conversation is deleted, or only one item of it. */
	leave(conversation: string, id?: string): Freed {
		const [condition, values] =
			id === undefined
				? ["conversation = ?", [conversation]]
				: ["conversation = ? AND id = ?", [conversation, id]];
		const freed = this.#delete(`${condition} AND held = 0`, ...values);
		this.#sql.exec(`UPDATE items SET conversation = NULL WHERE ${condition}`, ...values);
		return freed;
	}

	#delete(condition: string, ...values: SqlStorageValue[]): Freed {
		const freed = { bytes: 0, items: 0 };
		const deleted = this.#sql
			.exec<{ seq: number; bytes: number }>(
				`DELETE FROM items WHERE ${condition} RETURNING seq, bytes`,
				...values,
			)
			.toArray();
		for (const { bytes, seq } of deleted) {
			if (bytes > LONG_BYTES) this.#texts.delete(textKey(seq));
			freed.bytes += bytes;
			freed.items++;
		}
		return freed;
	}
}
