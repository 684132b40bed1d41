/**
 * The items of an account's responses and conversations. The items of a response are consecutive rows, its input before its output.
 * An item of a request with a conversation belongs to both, and its row dies with the later of them.
 */
import { DeletedPositions } from "../../core/deleted-positions.ts";
import type { Found, ItemRecord, ItemsPage, ItemsQuery, OwnedItem, Scope } from "../records.ts";
import type { LongTexts } from "./long-texts.ts";

/**
 * Written when a response ends, and when items are added to a conversation. `held`: 1 while the item's response exists. `reference`: 1
 * if `id` and `owner` are those of another row, which this one stands for. A row dies when it has neither a response nor a conversation.
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

export const textKey = (seq: number): string => `items/${seq}`;

interface ItemRow extends Record<string, SqlStorageValue> {
	seq: number;
	id: string;
	owner: string;
	reference: number;
	json: string;
}

const COLUMNS = "seq, id, owner, reference, json";

/** Consecutive rows. */
export interface ItemRange {
	first: number;
	last: number;
}

/** Of deleted rows. */
export interface Freed {
	bytes: number;
	items: number;
}

/** Of the rows, or of those of a conversation. */
export const conditionOf = (rows: ItemRange | string): [condition: string, values: (string | number)[]] =>
	typeof rows === "string" ? ["conversation = ?", [rows]] : ["seq BETWEEN ? AND ?", [rows.first, rows.last]];

/** An item may be in several conversations. */
const deletedId = (conversation: string, id: string): string => `${conversation}/${id}`;

interface NewItems {
	owner: string;
	conversation?: string | undefined;
	/** Whether a response has them. */
	held: boolean;
}

export class ItemTable {
	readonly #sql: SqlStorage;
	readonly #texts: LongTexts;
	readonly #deleted: DeletedPositions;
	#last: number;

	constructor(sql: SqlStorage, texts: LongTexts) {
		this.#sql = sql;
		this.#texts = texts;
		sql.exec(`${ITEMS}; ${INDEXES}`);
		this.#deleted = new DeletedPositions(sql, "items");
		const { last } = sql.exec<{ last: number | null }>("SELECT max(seq) AS last FROM items").one();
		this.#last = Math.max(last ?? 0, this.#deleted.last());
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
				...[++this.#last, bytes, id, reference ?? owner, Number(reference !== undefined), Number(held)],
				conversation ?? null,
				this.#texts.write(textKey(this.#last), json),
			);
		}
		return { first, last: this.#last, bytes: total };
	}

	/** The bytes of rows, or of the rows of a conversation. References count as the items that they stand for. */
	bytesOf(rows: ItemRange | string, from = 0): number {
		const [condition, values] = conditionOf(rows);
		const { bytes } = this.#sql
			.exec<{ bytes: number | null }>(
				`SELECT sum(CASE reference WHEN 0 THEN bytes ELSE (SELECT max(bytes) FROM items AS target
				WHERE target.id = items.id AND target.owner = items.owner AND target.reference = 0) END) AS bytes FROM items
				WHERE ${condition} AND seq >= ?`,
				...values,
				from,
			)
			.one();
		return bytes ?? 0;
	}

	/** References are resolved. An item that another one stands for may have been deleted. */
	ofRange(range: ItemRange): Found<string[]> {
		return this.#resolved(this.#rowsOf(range));
	}

	#rowsOf({ first, last }: ItemRange): Iterable<ItemRow> {
		return this.#sql.exec<ItemRow>(
			`SELECT ${COLUMNS} FROM items WHERE seq BETWEEN ? AND ? ORDER BY seq`,
			first,
			last,
		);
	}

	/** The rows become part of a conversation. */
	join({ first, last }: ItemRange, conversation: string): void {
		this.#sql.exec("UPDATE items SET conversation = ? WHERE seq BETWEEN ? AND ?", conversation, first, last);
	}

	/** Only those from the row `from` on. */
	ofConversation(id: string, from: number): Found<string[]> {
		return this.#resolved(
			this.#sql.exec<ItemRow>(
				`SELECT ${COLUMNS} FROM items WHERE conversation = ? AND seq >= ? ORDER BY seq`,
				id,
				from,
			),
		);
	}

	#resolved(rows: Iterable<ItemRow>): Found<string[]> {
		const value: string[] = [];
		for (const row of rows) {
			const json = this.#jsonOf(row);
			if (json === undefined) return { ok: false, missing: { kind: "item", id: row.id } };
			value.push(json);
		}
		return { ok: true, value };
	}

	/** The JSON of a row, or of the item that it stands for. */
	#jsonOf(row: ItemRow): string | undefined {
		const item = row.reference ? this.#latest(row) : row;
		return item && this.#texts.read(textKey(item.seq), item.json);
	}

	/** The latest row with the id and the owner that is an item itself. */
	#latest({ id, owner }: ItemRow): ItemRow | undefined {
		return this.#sql
			.exec<ItemRow>(
				`SELECT ${COLUMNS} FROM items WHERE id = ? AND owner = ? AND reference = 0 ORDER BY seq DESC LIMIT 1`,
				...[id, owner],
			)
			.toArray()[0];
	}

	/** The latest of the owner, or else of another one that the scope includes. */
	find(id: string, { all, owner }: Scope): Found<OwnedItem> {
		const rows = this.#sql
			.exec<ItemRow>(`SELECT ${COLUMNS} FROM items WHERE id = ? AND reference = 0 ORDER BY seq DESC`, id)
			.toArray();
		const row = rows.find((one) => one.owner === owner) ?? (all ? rows[0] : undefined);
		if (row) return { ok: true, value: { json: this.#jsonOf(row) ?? "", owner: row.owner } };
		return { ok: false, missing: { kind: "item", id, ...(rows.length > 0 && { foreign: true }) } };
	}

	/**
	 * A page of a conversation. An item whose target was deleted is left out. `undefined`: there is no item `after`, also none that was deleted
	 * in the last hour.
	 */
	page(conversation: string, { after, limit, order }: ItemsQuery): ItemsPage | undefined {
		const [compared, sort] = order === "asc" ? [">", "ASC"] : ["<", "DESC"];
		let start = order === "asc" ? 0 : Number.MAX_SAFE_INTEGER;
		if (after !== undefined) {
			const found =
				this.#latestIn(conversation, after)?.seq ??
				// Who may read the conversation may read all of its items.
				this.#deleted.get(deletedId(conversation, after), { all: true, owner: "" });
			if (found === undefined) return undefined;
			start = found;
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

	/** A page of rows, in their order. As {@link page}. */
	pageOf(ranges: readonly ItemRange[], { after, limit, order }: ItemsQuery): ItemsPage | undefined {
		const rows = ranges.flatMap((range) => [...this.#rowsOf(range)]);
		if (order === "desc") rows.reverse();
		const start = after === undefined ? 0 : rows.findIndex(({ id }) => id === after) + 1;
		if (after !== undefined && start === 0) return undefined;
		const items = rows
			.slice(start)
			.flatMap((row) => this.#jsonOf(row) ?? [])
			.slice(0, limit + 1);
		return { items: items.slice(0, limit), hasMore: items.length > limit };
	}

	inConversation(conversation: string, id: string): string | undefined {
		const row = this.#latestIn(conversation, id);
		return row && this.#jsonOf(row);
	}

	#latestIn(conversation: string, id: string): ItemRow | undefined {
		return this.#sql
			.exec<ItemRow>(
				`SELECT ${COLUMNS} FROM items WHERE conversation = ? AND id = ? ORDER BY seq DESC LIMIT 1`,
				conversation,
				id,
			)
			.toArray()[0];
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

	/** The conversation is deleted. */
	leave(conversation: string): Freed {
		return this.#leave("conversation = ?", conversation);
	}

	/** One item of the conversation is deleted. */
	leaveOne(conversation: string, id: string, now: number): Freed {
		const row = this.#latestIn(conversation, id);
		if (row) this.#deleted.add({ id: deletedId(conversation, id), seq: row.seq }, now);
		return this.#leave("conversation = ? AND id = ?", conversation, id);
	}

	#leave(condition: string, ...values: string[]): Freed {
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
