/** The stored responses of an account, each in one row with its items. A store of a response writes few pages. */
import type { Found, ResponseStatus, Scope } from "../records.ts";
import { ExpiryTable } from "./expiry-table.ts";
import type { LongTexts } from "./long-texts.ts";
import { moveEarlierRows } from "./response-migration.ts";
import { readText, type StoredItem, type StoredText, writeText } from "./stored-text.ts";

/**
 * A row with an empty `holder` is a response. It is written when the response ends; one in the background is also written when it is
 * created. `text`: see `stored-text.ts`. The items of a response with a conversation are rows of the table `items` instead: the ranges are
 * those rows, and a range is empty if it ends before it begins. `items`: their number in `text`. `background`: 1 if it was created so. A row
 * dies when it is deleted, or in the hour after `expires_at`, from which on it is not found. Times: epoch milliseconds.
 *
 * The other rows find the items: `key` is of the item, and `holder` is the id of the response that has it. They are in the same tree, because
 * keys of one time are beside each other there: so they need no page of their own.
 */
const RESPONSES = `CREATE TABLE IF NOT EXISTS responses (
	key TEXT NOT NULL,
	holder TEXT NOT NULL,
	id TEXT,
	owner TEXT,
	bytes INTEGER,
	items INTEGER,
	status TEXT,
	previous TEXT,
	conversation TEXT,
	created_at INTEGER,
	expires_at INTEGER,
	background INTEGER,
	input_from INTEGER,
	input_to INTEGER,
	output_from INTEGER,
	output_to INTEGER,
	text TEXT,
	PRIMARY KEY (key, holder)
) WITHOUT ROWID`;

/** Rows of an export that are read at once. */
const ROWS_AT_ONCE = 16;
/** A continued response is kept longer. The time of its expiry has this precision, so that few requests write. */
const EXPIRY_PRECISION_MS = 24 * 60 * 60_000;

/** Without the text, which may be long. */
export interface ResponseRow extends Record<string, SqlStorageValue> {
	id: string;
	owner: string;
	bytes: number;
	items: number;
	status: ResponseStatus;
	previous: string | null;
	conversation: string | null;
	created_at: number;
	expires_at: number;
	background: number;
	input_from: number;
	input_to: number;
	output_from: number;
	output_to: number;
}

const COLUMNS = `id, owner, bytes, items, status, previous, conversation, created_at, expires_at, background,
	input_from, input_to, output_from, output_to`;

/** Consecutive rows of the table `items`. */
export interface ItemRange {
	first: number;
	last: number;
}

/** One statement for all rows, because each costs as much as several rows. The last parameter: the keys of items, as JSON. */
const WRITE = `INSERT OR REPLACE INTO responses (key, holder, ${COLUMNS}, text)
	SELECT ?1, '', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16
	UNION ALL SELECT value, ?2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
	FROM json_each(?17)`;

const textKey = (id: string): string => `responses/${id}`;

/** `msg_0190…` as `0190…_msg`: so ids of all kinds are in the order of their times. */
export function keyOf(id: string): string {
	const end = id.indexOf("_");
	return (end < 0 ? id : `${id.slice(end + 1)}_${id.slice(0, end)}`).toWellFormed();
}

/** The keys of the items that are no references, as JSON. */
const keysOf = (items: readonly StoredItem[]): string =>
	JSON.stringify(items.flatMap(({ id, json }) => (json === undefined ? [] : [keyOf(id)])));

export const hasEnded = ({ status }: Pick<ResponseRow, "status">): boolean =>
	status !== "queued" && status !== "in_progress";

export const inputOf = ({ input_from, input_to }: ResponseRow): ItemRange => ({
	first: input_from,
	last: input_to,
});
export const outputOf = ({ output_from, output_to }: ResponseRow): ItemRange => ({
	first: output_from,
	last: output_to,
});

export class ResponseTable {
	readonly #sql: SqlStorage;
	readonly #texts: LongTexts;
	readonly #expiries: ExpiryTable;

	constructor(sql: SqlStorage, texts: LongTexts) {
		this.#sql = sql;
		this.#texts = texts;
		this.#expiries = new ExpiryTable(sql);
		moveEarlierRows(sql, { create: () => sql.exec(RESPONSES), expiries: this.#expiries });
	}

	/** `items`: those that are in rows of responses. */
	totals(): { bytes: number; responses: number; items: number } {
		return this.#sql
			.exec<{ bytes: number; responses: number; items: number }>(
				`SELECT coalesce(sum(bytes), 0) AS bytes, count(*) AS responses, coalesce(sum(items), 0) AS items
				FROM responses WHERE holder = ''`,
			)
			.one();
	}

	/** Inserts or replaces a response. `added`: the items that it has not had yet. Returns when it is deleted. */
	write(row: ResponseRow, text: StoredText, added: readonly StoredItem[]): number {
		this.#sql.exec(
			WRITE,
			...[keyOf(row.id), row.id, row.owner, row.bytes, row.items, row.status, row.previous, row.conversation],
			...[row.created_at, row.expires_at, row.background],
			...[row.input_from, row.input_to, row.output_from, row.output_to],
			this.#texts.write(textKey(row.id), writeText(text)),
			keysOf(added),
		);
		return this.#expiries.add(keyOf(row.id), row.expires_at);
	}

	/** Only a response that has not expired. */
	get(id: string, now: number): ResponseRow | undefined {
		const [row] = this.#sql
			.exec<ResponseRow>(
				`SELECT ${COLUMNS} FROM responses WHERE key = ? AND holder = '' AND expires_at > ?`,
				keyOf(id),
				now,
			)
			.toArray();
		return row;
	}

	textOf({ id }: ResponseRow): StoredText {
		const { text } = this.#sql
			.exec<{ text: string }>("SELECT text FROM responses WHERE key = ? AND holder = ''", keyOf(id))
			.one();
		return readText(this.#texts.read(textKey(id), text));
	}

	/** A response of the scope. */
	find(id: string, { all, owner }: Scope, now: number): Found<ResponseRow> {
		const row = this.get(id, now);
		if (row && (all || row.owner === owner)) return { ok: true, value: row };
		return { ok: false, missing: { kind: "response", id, ...(row && { foreign: true }) } };
	}

	/** An item of the latest response of the scope that has it. */
	findItem(id: string, { all, owner }: Scope, now: number): Found<string> {
		let foreign = false;
		const holders = this.#sql.exec<{ holder: string }>(
			"SELECT holder FROM responses WHERE key = ? AND holder > '' ORDER BY holder DESC",
			keyOf(id),
		);
		for (const { holder } of holders) {
			const row = this.get(holder, now);
			if (!row) continue;
			if (all || row.owner === owner) {
				const { input, output } = this.textOf(row);
				const item = [...input, ...output].findLast((each) => each.id === id && each.json !== undefined);
				if (item?.json !== undefined) return { ok: true, value: item.json };
			} else foreign = true;
		}
		return { ok: false, missing: { kind: "item", id, ...(foreign && { foreign: true }) } };
	}

	/** The response and those that it continues, oldest first. */
	chain(id: string, scope: Scope, now: number): Found<ResponseRow[]> {
		const chain: ResponseRow[] = [];
		for (let next: string | null = id; next !== null; ) {
			const found: Found<ResponseRow> = this.find(next, scope, now);
			if (!found.ok) return found;
			chain.push(found.value);
			next = found.value.previous;
		}
		return { ok: true, value: chain.reverse() };
	}

	/** As {@link chain}, as far as the responses still exist. */
	known(row: ResponseRow, scope: Scope, now: number): ResponseRow[] {
		const known = [row];
		for (let next = row.previous; next !== null; ) {
			const before: Found<ResponseRow> = this.find(next, scope, now);
			if (!before.ok) break;
			known.push(before.value);
			next = before.value.previous;
		}
		return known.reverse();
	}

	/** Keeps the responses until `expiresAt` at least. */
	keep(rows: readonly ResponseRow[], expiresAt: number): void {
		for (const { id, expires_at } of rows) {
			if (expires_at >= expiresAt - EXPIRY_PRECISION_MS) continue;
			const key = keyOf(id);
			this.#sql.exec("UPDATE responses SET expires_at = ? WHERE key = ? AND holder = ''", expiresAt, key);
			this.#expiries.add(key, expiresAt);
		}
	}

	delete(row: ResponseRow): void {
		const { input, output } = this.textOf(row);
		this.#sql.exec(
			"DELETE FROM responses WHERE holder = ? AND key IN (SELECT value FROM json_each(?))",
			row.id,
			keysOf([...input, ...output]),
		);
		this.#sql.exec("DELETE FROM responses WHERE key = ? AND holder = ''", keyOf(row.id));
		this.#texts.delete(textKey(row.id));
	}

	/** Some of the responses that are due to be deleted. The caller deletes them. */
	expired(now: number, limit: number): ResponseRow[] {
		const expired: ResponseRow[] = [];
		for (const expiry of this.#expiries.due(now)) {
			const some = this.#sql.exec<ResponseRow>(
				`SELECT ${COLUMNS} FROM responses
				WHERE key >= ?1 AND key < ?1 || char(1114111) AND holder = '' AND expires_at <= ?2 LIMIT ?3`,
				expiry.part,
				now,
				limit - expired.length,
			);
			expired.push(...some);
			if (expired.length === limit) break;
			this.#expiries.delete(expiry);
		}
		return expired;
	}

	/** When the next responses are due to be deleted. */
	nextExpiry(): number | undefined {
		return this.#expiries.next();
	}

	/** Some of all responses, in the order of their keys. */
	after(id: string): ResponseRow[] {
		return this.#sql
			.exec<ResponseRow>(
				`SELECT ${COLUMNS} FROM responses WHERE key > ? AND holder = '' ORDER BY key LIMIT ?`,
				keyOf(id),
				ROWS_AT_ONCE,
			)
			.toArray();
	}
}
