/** The accounts of one object: their numbers in the other tables, when each is due, and which have left. */
import { addColumns } from "../../core/sql-columns.ts";
import { USED_OBJECTS } from "./used-objects-table.ts";

/**
 * One row for each account, written by its first change. It dies with the account's data. `wake_at`: when a request or a lease of the account
 * expires, or its rows are swept. `sweep_at`: only the latter. `moving_to`: the account has left for this object, or is arriving
 * in this one. `last_move`: the start of its latest move, in epoch milliseconds, which is also the id of the move.
 */
const COLUMNS = {
	number: "INTEGER PRIMARY KEY",
	id: "TEXT NOT NULL UNIQUE",
	wake_at: "INTEGER",
	sweep_at: "INTEGER",
	moving_to: "TEXT",
	last_move: "INTEGER",
};

/** The account of an object of an earlier version, until its first call names it. Ids of accounts are not empty. */
export const UNNAMED = "";

/** Milliseconds since the epoch. */
export interface Due {
	wakeAt?: number;
	sweepAt?: number;
}

export interface FoundAccount extends Due {
	number: number;
	/** The name of the object that has, or will have, the account. */
	movingTo?: string;
	lastMove?: number;
}

type AccountRow = {
	number: number;
	wake_at: number | null;
	sweep_at: number | null;
	moving_to: string | null;
	last_move: number | null;
};

export class AccountTable {
	readonly #sql: SqlStorage;
	/** Whether the table exists. The first account creates it, so that an unknown token writes nothing. */
	#isMade: boolean;
	/** The object is of an earlier version, and its account is not named yet. */
	#isUnnamed: boolean;
	/** Accounts of an earlier version, which has not recorded what they use: their numbers. */
	readonly unrecorded: readonly number[];

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		const tables = sql
			.exec<{ name: string }>(
				"SELECT name FROM sqlite_master WHERE name IN ('accounts', 'requests', ?)",
				USED_OBJECTS,
			)
			.toArray()
			.map(({ name }) => name);
		this.#isMade = tables.includes("accounts");
		if (this.#isMade) addColumns(sql, "accounts", COLUMNS);
		else if (tables.length > 0) {
			this.#make();
			sql.exec("INSERT INTO accounts (number, id, wake_at) VALUES (1, ?, ?)", UNNAMED, Date.now());
		}
		this.#isUnnamed = this.#find(UNNAMED) !== undefined;
		this.unrecorded = this.#isMade && !tables.includes(USED_OBJECTS) ? this.#numbers() : [];
	}

	find(id: string): FoundAccount | undefined {
		if (this.#isUnnamed && id !== UNNAMED) {
			this.#sql.exec("UPDATE accounts SET id = ? WHERE id = ?", id, UNNAMED);
			this.#isUnnamed = false;
		}
		return this.#find(id);
	}

	/** Returns the number of the account. */
	add(id: string): number {
		if (!this.#isMade) this.#make();
		return this.#sql
			.exec<{ number: number }>("INSERT INTO accounts (id) VALUES (?) RETURNING number", id)
			.one().number;
	}

	setDue(number: number, { wakeAt, sweepAt }: Due): void {
		this.#sql.exec(
			"UPDATE accounts SET wake_at = ?, sweep_at = ? WHERE number = ?",
			wakeAt ?? null,
			sweepAt ?? null,
			number,
		);
	}

	/** The account moves, so it is not due here. */
	setMoving(number: number, to: string, move: number): void {
		this.#sql.exec(
			"UPDATE accounts SET wake_at = NULL, sweep_at = NULL, moving_to = ?, last_move = ? WHERE number = ?",
			to,
			move,
			number,
		);
	}

	/** The account has no rows in other tables any more. */
	delete(number: number): void {
		this.#sql.exec("DELETE FROM accounts WHERE number = ?", number);
	}

	/** The account is here. */
	endMove(number: number): void {
		this.#sql.exec("UPDATE accounts SET moving_to = NULL WHERE number = ?", number);
	}

	/** The accounts that are due, those that have waited longest first. */
	due(now: number, limit: number): string[] {
		if (!this.#isMade) return [];
		return this.#sql
			.exec<{ id: string }>("SELECT id FROM accounts WHERE wake_at <= ? ORDER BY wake_at LIMIT ?", now, limit)
			.toArray()
			.map(({ id }) => id);
	}

	/** When the next account is due. */
	nextWake(): number | undefined {
		if (!this.#isMade) return undefined;
		const { next } = this.#sql
			.exec<{ next: number | null }>("SELECT min(wake_at) AS next FROM accounts WHERE wake_at IS NOT NULL")
			.one();
		return next ?? undefined;
	}

	#numbers(): number[] {
		return this.#sql
			.exec<{ number: number }>("SELECT number FROM accounts")
			.toArray()
			.map(({ number }) => number);
	}

	#make(): void {
		const columns = Object.entries(COLUMNS).map(([name, declaration]) => `${name} ${declaration}`);
		this.#sql.exec(`CREATE TABLE accounts (${columns.join(", ")})`);
		this.#sql.exec("CREATE INDEX accounts_by_wake ON accounts (wake_at) WHERE wake_at IS NOT NULL");
		this.#isMade = true;
	}

	#find(id: string): FoundAccount | undefined {
		if (!this.#isMade) return undefined;
		const [row] = this.#sql
			.exec<AccountRow>(
				"SELECT number, wake_at, sweep_at, moving_to, last_move FROM accounts WHERE id = ?",
				id,
			)
			.toArray();
		if (!row) return undefined;
		const { number, wake_at, sweep_at, moving_to, last_move } = row;
		return {
			number,
			...(wake_at !== null && { wakeAt: wake_at }),
			...(sweep_at !== null && { sweepAt: sweep_at }),
			...(moving_to !== null && { movingTo: moving_to }),
			...(last_move !== null && { lastMove: last_move }),
		};
	}
}
