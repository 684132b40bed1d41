/**
 * The `Directory` object: which accounts exist, and the random secrets of the deployment. One for the deployment.
 *
 * An account is recorded before its first token is created, and by each call of the operator for it. Only recorded
 * accounts have their `Account` object opened: an open object holds three files, and one of them stays on the disk.
 */
import { DurableObject } from "cloudflare:workers";

export const DIRECTORY_NAME = "directory";

const ACCOUNTS = `CREATE TABLE IF NOT EXISTS accounts (
	id TEXT PRIMARY KEY,
	recorded_at INTEGER NOT NULL
) WITHOUT ROWID`;

/** Random values of the deployment, each written once and never removed. */
const SECRETS = `CREATE TABLE IF NOT EXISTS secrets (
	name TEXT PRIMARY KEY,
	value BLOB NOT NULL
) WITHOUT ROWID`;

/** One row, written by probes. */
const PROBE = `CREATE TABLE IF NOT EXISTS probe (
	id INTEGER PRIMARY KEY CHECK (id = 0),
	written_at INTEGER NOT NULL
)`;

const SECRET_BYTES = 32;

export interface DirectoryQuery {
	/** Lists the accounts after this id. */
	after?: string;
	limit: number;
}

interface RecordedAccount {
	id: string;
	/** Milliseconds since the epoch. */
	recordedAt: number;
}

export interface DirectoryPage {
	/** Sorted by id. */
	accounts: RecordedAccount[];
	/** The id to continue after. Absent on the last page. */
	next?: string;
}

export class Directory extends DurableObject {
	readonly #sql: SqlStorage;

	constructor(ctx: DurableObjectState, env: Env) {
		super(ctx, env);
		this.#sql = ctx.storage.sql;
		this.#sql.exec(ACCOUNTS);
		this.#sql.exec(SECRETS);
		this.#sql.exec(PROBE);
	}

	/** Throws if the disk cannot be written: the runtime holds the answer until the row is on it. */
	probe(): void {
		this.#sql.exec("INSERT OR REPLACE INTO probe VALUES (0, ?)", Date.now());
	}

	has(account: string): boolean {
		return this.#sql.exec("SELECT 1 FROM accounts WHERE id = ?", account).toArray().length > 0;
	}

	/** A recorded account keeps its time. */
	add(account: string): void {
		this.#sql.exec("INSERT OR IGNORE INTO accounts VALUES (?, ?)", account, Date.now());
	}

	/** The random value of this name. The first call makes it. */
	secret(name: string): Uint8Array {
		const value = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
		this.#sql.exec("INSERT OR IGNORE INTO secrets VALUES (?, ?)", name, value);
		const [row] = this.#sql
			.exec<{ value: ArrayBuffer }>("SELECT value FROM secrets WHERE name = ?", name)
			.toArray();
		return row ? new Uint8Array(row.value) : value;
	}

	list({ after = "", limit }: DirectoryQuery): DirectoryPage {
		const rows = this.#sql
			.exec<{ id: string; recorded_at: number }>(
				"SELECT id, recorded_at FROM accounts WHERE id > ? ORDER BY id LIMIT ?",
				after,
				limit + 1,
			)
			.toArray();
		const accounts = rows.slice(0, limit).map(({ id, recorded_at }) => ({ id, recordedAt: recorded_at }));
		const next = rows.length > limit ? accounts.at(-1)?.id : undefined;
		return { accounts, ...(next !== undefined && { next }) };
	}
}
