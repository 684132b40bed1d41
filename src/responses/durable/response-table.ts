/** The stored responses of an account, without their items. */
import type { Found, ResponseStatus, Scope } from "../records.ts";
import type { ItemRange } from "./item-rows.ts";
import type { LongTexts } from "./long-texts.ts";

/**
 * Written when a response ends; a response in the background is also written when it is created. `json`: the response object without
 * its output. The ranges are the rows of its items; a range is empty if it ends before it begins. `background`: 1 if it was created so.
 * A row dies when it is deleted, or at `expires_at`. Times: epoch milliseconds. The table has rowids, because long rows of one without
 * them need a page of their own.
 */
const RESPONSES = `CREATE TABLE IF NOT EXISTS responses (
	id TEXT PRIMARY KEY,
	owner TEXT NOT NULL,
	bytes INTEGER NOT NULL,
	status TEXT NOT NULL,
	previous TEXT,
	conversation TEXT,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	background INTEGER NOT NULL,
	input_from INTEGER NOT NULL,
	input_to INTEGER NOT NULL,
	output_from INTEGER NOT NULL,
	output_to INTEGER NOT NULL,
	json TEXT NOT NULL
)`;
const INDEX = "CREATE INDEX IF NOT EXISTS responses_by_expiry ON responses (expires_at)";

/** A continued response is kept longer. The time of its expiry has this precision, so that few requests write. */
const EXPIRY_PRECISION_MS = 24 * 60 * 60_000;

export interface ResponseRow extends Record<string, SqlStorageValue> {
	id: string;
	owner: string;
	bytes: number;
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
	json: string;
}

const textKey = (id: string): string => `responses/${id}`;

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

	constructor(sql: SqlStorage, texts: LongTexts) {
		this.#sql = sql;
		this.#texts = texts;
		sql.exec(`${RESPONSES}; ${INDEX}`);
	}

	totals(): { bytes: number; responses: number } {
		const { bytes, responses } = this.#sql
			.exec<{ bytes: number | null; responses: number }>(
				"SELECT sum(bytes) AS bytes, count(*) AS responses FROM responses",
			)
			.one();
		return { bytes: bytes ?? 0, responses };
	}

	write(row: ResponseRow): void {
		this.#sql.exec(
			"INSERT OR REPLACE INTO responses VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			...[row.id, row.owner, row.bytes, row.status, row.previous, row.conversation],
			...[row.created_at, row.expires_at, row.background],
			...[row.input_from, row.input_to, row.output_from, row.output_to],
			this.#texts.write(textKey(row.id), row.json),
		);
	}

	/** Only a response that has not expired. */
	get(id: string, now: number): ResponseRow | undefined {
		const [row] = this.#sql
			.exec<ResponseRow>("SELECT * FROM responses WHERE id = ? AND expires_at > ?", id, now)
			.toArray();
		return row && this.#whole(row);
	}

	#whole(row: ResponseRow): ResponseRow {
		return { ...row, json: this.#texts.read(textKey(row.id), row.json) };
	}

	/** A response of the scope. */
	find(id: string, { all, owner }: Scope, now: number): Found<ResponseRow> {
		const row = this.get(id, now);
		if (row && (all || row.owner === owner)) return { ok: true, value: row };
		return { ok: false, missing: { kind: "response", id, ...(row && { foreign: true }) } };
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
		for (const { id, expires_at } of rows)
			if (expires_at < expiresAt - EXPIRY_PRECISION_MS)
				this.#sql.exec("UPDATE responses SET expires_at = ? WHERE id = ?", expiresAt, id);
	}

	delete(id: string): void {
		this.#sql.exec("DELETE FROM responses WHERE id = ?", id);
		this.#texts.delete(textKey(id));
	}

	expired(now: number, limit: number): ResponseRow[] {
		return this.#sql
			.exec<ResponseRow>("SELECT * FROM responses WHERE expires_at <= ? LIMIT ?", now, limit)
			.toArray();
	}

	nextExpiry(): number | undefined {
		const { first } = this.#sql
			.exec<{ first: number | null }>("SELECT min(expires_at) AS first FROM responses")
			.one();
		return first ?? undefined;
	}

	/** The first of all responses after an id, in the order of their ids. */
	after(id: string): ResponseRow | undefined {
		const [row] = this.#sql
			.exec<ResponseRow>("SELECT * FROM responses WHERE id > ? ORDER BY id LIMIT 1", id)
			.toArray();
		return row && this.#whole(row);
	}
}
