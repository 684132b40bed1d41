/**
 * The `Directory` object: which accounts exist, and the random secrets of the deployment. One for the deployment.
 *
 * An account is recorded before its first token is created, and by each call of the operator for it, with its place: the `Account`
 * object that has its rows. Only the objects of recorded accounts are opened: an open object holds three files, and one of them
 * stays on the disk.
 */
import { DurableObject } from "cloudflare:workers";
import { addColumns } from "../../core/sql-columns.ts";

export const DIRECTORY_NAME = "directory";

const ACCOUNTS = `CREATE TABLE IF NOT EXISTS accounts (
	id TEXT PRIMARY KEY,
	recorded_at INTEGER NOT NULL
) WITHOUT ROWID`;

/** Absent: an earlier version has recorded the account, which has an object of its own. */
const PLACE = { place: "TEXT" };

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

export interface RecordedAccount {
	id: string;
	/** Milliseconds since the epoch. */
	recordedAt: number;
	/** The name of its object. Absent: an earlier version has recorded the account. */
	place?: string;
}

type AccountRow = { id: string; recorded_at: number; place: string | null };
const SELECT = "SELECT id, recorded_at, place FROM accounts";

const recorded = ({ id, recorded_at, place }: AccountRow): RecordedAccount => ({
	...{ id, recordedAt: recorded_at },
	...(place !== null && { place }),
});

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
		addColumns(this.#sql, "accounts", PLACE);
		this.#sql.exec(SECRETS);
		this.#sql.exec(PROBE);
	}

	/** Throws if the disk cannot be written: the runtime holds the answer until the row is on it. */
	probe(): void {
		this.#sql.exec("INSERT OR REPLACE INTO probe VALUES (0, ?)", Date.now());
	}

	/** Nothing if the account is not recorded. */
	find(account: string): RecordedAccount | undefined {
		const [row] = this.#sql.exec<AccountRow>(`${SELECT} WHERE id = ?`, account).toArray();
		return row && recorded(row);
	}

	/** Records the account at this place, and returns it. A recorded account keeps its time and its place. `place`: as that of the result. */
	add(account: string, place?: string): RecordedAccount {
		const recordedAt = Date.now();
		this.#sql.exec(
			"INSERT OR IGNORE INTO accounts (id, recorded_at, place) VALUES (?, ?, ?)",
			...[account, recordedAt, place ?? null],
		);
		return this.find(account) ?? { id: account, recordedAt, ...(place !== undefined && { place }) };
	}

	/** The account has moved. */
	setPlace(account: string, place: string): void {
		this.#sql.exec("UPDATE accounts SET place = ? WHERE id = ?", place, account);
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
			.exec<AccountRow>(`${SELECT} WHERE id > ? ORDER BY id LIMIT ?`, after, limit + 1)
			.toArray();
		const accounts = rows.slice(0, limit).map(recorded);
		const next = rows.length > limit ? accounts.at(-1)?.id : undefined;
		return { accounts, ...(next !== undefined && { next }) };
	}
}
