/**
 * The `Directory` object: which accounts exist, and the random secrets of the deployment. One for the deployment.
 *
 * An account is recorded before its first token is created, and by each call of the operator for it, with its place: the `Account`
 * object that has its rows. Only the objects of recorded accounts are opened: an open object holds three files, and one of them
 * stays on the disk.
 */
import { DurableObject } from "cloudflare:workers";
import type { AccountDeletion } from "../../core/deleted-accounts.ts";
import { addColumns } from "../../core/sql-columns.ts";
import { ownPlace } from "../places.ts";

export const DIRECTORY_NAME = "directory";

const ACCOUNTS = `CREATE TABLE IF NOT EXISTS accounts (
	id TEXT PRIMARY KEY,
	recorded_at INTEGER NOT NULL
) WITHOUT ROWID`;

/** Absent: an earlier version has recorded the account, which has an object of its own. */
const PLACE = { place: "TEXT" };

/** The places of the account before its present one, as a JSON array. */
const FORMER = { former: "TEXT" };

/**
 * Accounts whose data are being deleted, and those that were deleted a short time ago (`core/deleted-accounts.ts`). Written when a deletion
 * begins and when it ends, and deleted when the name is free again.
 */
const DELETIONS = `CREATE TABLE IF NOT EXISTS deletions (
	id TEXT PRIMARY KEY,
	begun_at INTEGER NOT NULL,
	until INTEGER
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

export interface NewAccount {
	id: string;
	/** The name of its object. Absent: an earlier version has recorded the account. */
	place?: string;
}

export interface RecordedAccount extends NewAccount {
	/** Milliseconds since the epoch. */
	recordedAt: number;
	/** Its places before. */
	former?: string[];
}

type AccountRow = { id: string; recorded_at: number; place: string | null; former: string | null };
const SELECT = "SELECT id, recorded_at, place, former FROM accounts";

const recorded = ({ id, recorded_at, place, former }: AccountRow): RecordedAccount => ({
	...{ id, recordedAt: recorded_at },
	...(place !== null && { place }),
	...(former !== null && { former: JSON.parse(former) }),
});

const ADD = `INSERT INTO accounts (id, recorded_at, place)
	SELECT ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM deletions WHERE id = ?)
	ON CONFLICT (id) DO NOTHING`;

type DeletionRow = { id: string; begun_at: number; until: number | null };

const deletionOf = ({ begun_at, until }: DeletionRow): AccountDeletion => ({
	begunAt: begun_at,
	...(until !== null && { until }),
});

export interface DirectoryPage {
	/** Sorted by id. */
	accounts: RecordedAccount[];
	/** The id to continue after. Absent on the last page. */
	next?: string;
}

export class Directory extends DurableObject {
	readonly #sql: SqlStorage;
	/** Of the list of deletions. Another one after each change, and after a restart. */
	#revision = crypto.randomUUID();

	constructor(ctx: DurableObjectState, env: Env) {
		super(ctx, env);
		this.#sql = ctx.storage.sql;
		this.#sql.exec(ACCOUNTS);
		addColumns(this.#sql, "accounts", PLACE);
		addColumns(this.#sql, "accounts", FORMER);
		this.#sql.exec(DELETIONS);
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

	/**
	 * Records the accounts at these places, in one commit, and returns them. A recorded account keeps its time and its place. Nothing for
	 * an account that is deleted.
	 */
	add(accounts: readonly NewAccount[]): (RecordedAccount | undefined)[] {
		return accounts.map((account) => this.#add(account));
	}

	#add({ id: account, place }: NewAccount): RecordedAccount | undefined {
		const recordedAt = Date.now();
		const { rowsWritten } = this.#sql.exec(ADD, account, recordedAt, place ?? null, account);
		if (rowsWritten > 0) return { id: account, recordedAt, ...(place !== undefined && { place }) };
		return this.deletion(account) ? undefined : this.find(account);
	}

	/** The account has moved. */
	setPlace(account: string, place: string): void {
		const known = this.find(account);
		if (!known || known.place === place) return;
		const former = new Set([...(known.former ?? []), known.place ?? ownPlace(account)]);
		former.delete(place);
		this.#sql.exec(
			"UPDATE accounts SET place = ?, former = ? WHERE id = ?",
			...[place, JSON.stringify([...former]), account],
		);
	}

	/** Begins the deletion of the account's data, unless one is known. */
	beginDeletion(account: string): AccountDeletion {
		const known = this.deletion(account);
		if (known) return known;
		const begunAt = Date.now();
		this.#sql.exec("INSERT INTO deletions VALUES (?, ?, NULL)", account, begunAt);
		this.#revision = crypto.randomUUID();
		return { begunAt };
	}

	/** The account has no data any more. Its name stays refused until this time. */
	endDeletion(account: string, until: number): void {
		this.#sql.exec("DELETE FROM accounts WHERE id = ?", account);
		this.#sql.exec("UPDATE deletions SET until = ? WHERE id = ?", until, account);
		this.#revision = crypto.randomUUID();
	}

	/** The name is free again. */
	forgetDeletion(account: string): void {
		this.#sql.exec("DELETE FROM deletions WHERE id = ?", account);
		this.#revision = crypto.randomUUID();
	}

	/** Nothing if the account is not deleted, or its name is free again. */
	deletion(account: string): AccountDeletion | undefined {
		const [row] = this.#sql.exec<DeletionRow>("SELECT * FROM deletions WHERE id = ?", account).toArray();
		return row && deletionOf(row);
	}

	/** All deletions, unless they are those of the known revision. */
	deletions(known: string | undefined): {
		revision: string;
		accounts?: ({ id: string } & AccountDeletion)[];
	} {
		const revision = this.#revision;
		if (known === revision) return { revision };
		const rows = this.#sql.exec<DeletionRow>("SELECT * FROM deletions").toArray();
		return { revision, accounts: rows.map((row) => ({ id: row.id, ...deletionOf(row) })) };
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

	/** Without those whose data are being deleted. */
	list({ after = "", limit }: DirectoryQuery): DirectoryPage {
		const rows = this.#sql
			.exec<AccountRow>(
				`${SELECT} WHERE id > ? AND id NOT IN (SELECT id FROM deletions) ORDER BY id LIMIT ?`,
				after,
				limit + 1,
			)
			.toArray();
		const accounts = rows.slice(0, limit).map(recorded);
		const next = rows.length > limit ? accounts.at(-1)?.id : undefined;
		return { accounts, ...(next !== undefined && { next }) };
	}
}
