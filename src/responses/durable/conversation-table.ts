/** The conversations of an account, without their items. */
import type { ConversationRecord, Found, Scope } from "../records.ts";

/** Written by `POST /conversations`. A row dies when the conversation is deleted: conversations do not expire. */
const CONVERSATIONS = `CREATE TABLE IF NOT EXISTS conversations (
	id TEXT PRIMARY KEY,
	owner TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	metadata TEXT NOT NULL
) WITHOUT ROWID`;

const ROWS_AT_ONCE = 64;

interface ConversationRow extends Record<string, SqlStorageValue> {
	id: string;
	owner: string;
	created_at: number;
	metadata: string;
}

export class ConversationTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(CONVERSATIONS);
	}

	count(): number {
		return this.#sql.exec<{ rows: number }>("SELECT count(*) AS rows FROM conversations").one().rows;
	}

	insert({ id, createdAt, metadata }: ConversationRecord, owner: string): void {
		this.#sql.exec("INSERT INTO conversations VALUES (?, ?, ?, ?)", id, owner, createdAt, metadata);
	}

	find(id: string, { all, owner }: Scope): Found<ConversationRecord> {
		const row = this.#sql.exec<ConversationRow>("SELECT * FROM conversations WHERE id = ?", id).toArray()[0];
		if (row && (all || row.owner === owner)) return { ok: true, value: recordOf(row) };
		return { ok: false, missing: { kind: "conversation", id, ...(row && { foreign: true }) } };
	}

	update(id: string, metadata: string): void {
		this.#sql.exec("UPDATE conversations SET metadata = ? WHERE id = ?", metadata, id);
	}

	delete(id: string): void {
		this.#sql.exec("DELETE FROM conversations WHERE id = ?", id);
	}

	/** Some of all conversations, in the order of their ids. */
	after(id: string): (ConversationRecord & { owner: string })[] {
		return this.#sql
			.exec<ConversationRow>("SELECT * FROM conversations WHERE id > ? ORDER BY id LIMIT ?", id, ROWS_AT_ONCE)
			.toArray()
			.map((row) => ({ ...recordOf(row), owner: row.owner }));
	}
}

const recordOf = ({ id, created_at, metadata }: ConversationRow): ConversationRecord => ({
	id,
	createdAt: created_at,
	metadata,
});
