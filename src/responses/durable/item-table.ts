/**
 * The items of an account's responses and conversations. The items of a response are consecutive rows, its input before its output.
 * An item of a request with a conversation belongs to both, and its row dies with the later of them.
 */
import { DeletedPositions } from "../../core/deleted-positions.ts";
import { lazy } from "../../core/lazy.ts";
import { MAX_CONTEXT_BYTES } from "../context-bytes.ts";
import type { Found, ItemRecord, ItemsPage, ItemsQuery, Scope } from "../records.ts";
import { pageOfRows } from "./item-pages.ts";
import {
	conditionOf,
	createItems,
	type Freed,
	type ItemPlace,
	type ItemRange,
	jsonBytes,
	LONG_BYTES,
	PLACE,
	ROW_BYTES,
	textKey,
} from "./item-rows.ts";
import type { LongTexts } from "./long-texts.ts";

interface ItemRow extends ItemPlace {
	json: string;
}

const COLUMNS = `${PLACE}, json`;

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
		createItems(sql);
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
		for (const { id, json, referencedOwner } of items) {
			const bytes = Buffer.byteLength(json) + ROW_BYTES;
			total += bytes;
			this.#sql.exec(
				"INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
				...[++this.#last, bytes, id, referencedOwner ?? owner],
				...[Number(referencedOwner !== undefined), Number(held)],
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
				`SELECT sum(CASE reference WHEN 0 THEN bytes ELSE (SELECT target.bytes FROM items AS target WHERE target.seq = (
					SELECT max(latest.seq) FROM items AS latest
					WHERE latest.id = items.id AND latest.reference = 0 AND latest.owner = items.owner AND latest.seq < items.seq
				)) END) AS bytes FROM items
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
		let referenced = 0;
		for (const row of rows) {
			const { id } = row;
			const item = this.meantBy(row);
			if (!item) return { ok: false, missing: { kind: "item", id } };
			if (row.reference) referenced += jsonBytes(item);
			if (referenced > MAX_CONTEXT_BYTES) return { ok: false, missing: { kind: "item", id, tooLarge: true } };
			value.push(row.reference ? this.jsonOf(item) : this.#texts.read(textKey(row.seq), row.json));
		}
		return { ok: true, value };
	}

	/** The row, or the item that it stands for: the latest of its owner before it. */
	meantBy(row: ItemPlace): ItemPlace | undefined {
		const { id, owner, reference, seq } = row;
		return reference
			? this.#place("id = ? AND reference = 0 AND owner = ? AND seq < ?", id, owner, seq)
			: row;
	}

	/** The latest row of a condition. */
	#place(condition: string, ...values: (string | number)[]): ItemPlace | undefined {
		return this.#sql
			.exec<ItemPlace>(
				`SELECT ${PLACE} FROM items WHERE seq = (SELECT max(seq) FROM items WHERE ${condition})`,
				...values,
			)
			.toArray()[0];
	}

	/** Of an item that is no reference. */
	jsonOf({ seq }: ItemPlace): string {
		const { json } = this.#sql.exec<{ json: string }>("SELECT json FROM items WHERE seq = ?", seq).one();
		return this.#texts.read(textKey(seq), json);
	}

	/** The latest of the owner, or else of another one that the scope includes. */
	find(id: string, { all, owner }: Scope): Found<ItemPlace> {
		const own = this.#place("id = ? AND reference = 0 AND owner = ?", id, owner);
		if (own) return { ok: true, value: own };
		const foreign = this.#place("id = ? AND reference = 0", id);
		if (foreign && all) return { ok: true, value: foreign };
		return { ok: false, missing: { kind: "item", id, ...(foreign && { foreign: true }) } };
	}

	/**
	 * A page of a conversation. An item whose target was deleted is left out. It begins after the first item of the list with the id `after`.
	 * `undefined`: there is none, also none that was deleted in the last hour.
	 */
	page(conversation: string, { after, limit, order }: ItemsQuery): Found<ItemsPage | undefined> {
		const [compared, sort, first] = order === "asc" ? [">", "ASC", "min"] : ["<", "DESC", "max"];
		let start = order === "asc" ? 0 : Number.MAX_SAFE_INTEGER;
		if (after !== undefined) {
			const found =
				this.#sql
					.exec<{ seq: number | null }>(
						`SELECT ${first}(seq) AS seq FROM items WHERE conversation = ? AND id = ?`,
						conversation,
						after,
					)
					.one().seq ??
				// Who may read the conversation may read all of its items.
				this.#deleted.get(deletedId(conversation, after), { all: true, owner: "" });
			if (found === undefined) return { ok: true, value: undefined };
			start = found;
		}
		const rows = this.#sql.exec<ItemPlace>(
			`SELECT ${PLACE} FROM items WHERE conversation = ? AND seq ${compared} ? ORDER BY seq ${sort}`,
			conversation,
			start,
		);
		// By the index of the ids (`+`): a conversation may have many other items.
		const isRepeated = ({ id }: ItemPlace): boolean =>
			this.#sql
				.exec("SELECT 1 FROM items WHERE +conversation = ? AND id = ? LIMIT 2", conversation, id)
				.toArray().length > 1;
		return pageOfRows(rows, { limit, isRepeated, table: this });
	}

	/** A page of the rows of ranges, in their order. As {@link page}. */
	pageOf(ranges: readonly ItemRange[], { after, limit, order }: ItemsQuery): Found<ItemsPage | undefined> {
		const query = `SELECT ${PLACE} FROM items WHERE seq BETWEEN ? AND ? ORDER BY seq`;
		const rows = ranges.flatMap(({ first, last }) => [...this.#sql.exec<ItemPlace>(query, first, last)]);
		if (order === "desc") rows.reverse();
		const start = after === undefined ? 0 : rows.findIndex(({ id }) => id === after) + 1;
		if (after !== undefined && start === 0) return { ok: true, value: undefined };
		const counts = lazy(() => {
			const counted = new Map<string, number>();
			for (const { id } of rows) counted.set(id, (counted.get(id) ?? 0) + 1);
			return counted;
		});
		const isRepeated = ({ id }: ItemPlace): boolean => (counts().get(id) ?? 0) > 1;
		return pageOfRows(rows.slice(start), { limit, isRepeated, table: this });
	}

	/** The items of rows, or of a conversation, read one at a time. An item whose target was deleted is left out. */
	*each(rows: ItemRange | string): Generator<string> {
		const [condition, values] = conditionOf(rows);
		const query = `SELECT ${PLACE} FROM items WHERE ${condition} AND seq > ? ORDER BY seq LIMIT 1`;
		for (let after = 0; ; ) {
			const [row] = this.#sql.exec<ItemPlace>(query, ...values, after).toArray();
			if (!row) return;
			after = row.seq;
			const item = this.meantBy(row);
			if (item) yield this.jsonOf(item);
		}
	}

	inConversation(conversation: string, id: string): string | undefined {
		const row = this.#latestIn(conversation, id);
		const item = row && this.meantBy(row);
		return item && this.jsonOf(item);
	}

	#latestIn(conversation: string, id: string): ItemPlace | undefined {
		return this.#place("conversation = ? AND id = ?", conversation, id);
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
