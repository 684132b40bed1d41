/**
 * Moves of indexes from one store to another, in the registry of their account. A mutation is announced here before it is written to the old
 * store, and reported when it has ended. Both mark its ids as changed, and the move copies what is changed until nothing is. So a vector that
 * was copied before a mutation is copied again.
 */
import { addColumns } from "../../../core/sql-columns.ts";
import type { VectorIndexRecord } from "../records.ts";

/** A row dies when a later move of the index begins, or with the index. `json`: {@link IndexMove}. */
const MOVES = `CREATE TABLE IF NOT EXISTS moves (
	name TEXT PRIMARY KEY,
	json TEXT NOT NULL
) WITHOUT ROWID`;
/** Written by mutations during a move. A row dies when its vector is copied, or with the move. `change`: of the last mutation. */
const CHANGED = `CREATE TABLE IF NOT EXISTS changed_ids (
	name TEXT NOT NULL,
	id TEXT NOT NULL,
	change INTEGER NOT NULL,
	PRIMARY KEY (name, id)
) WITHOUT ROWID`;
/**
 * Mutations that have begun during a move. A row dies when its mutation ends, or at `until`, which its writer moves on while it writes.
 * `process`: the life of the registry's process in which it has begun.
 */
const RUNNING = `CREATE TABLE IF NOT EXISTS running_mutations (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL,
	ids TEXT NOT NULL,
	until INTEGER NOT NULL
)`;
const RUNNING_COLUMNS = { process: "TEXT" };
/** The mutation of a writer that does not renew it for so long counts as ended. If it goes on nevertheless, its writer repeats it. */
const MUTATION_MS = 15_000;
/** What a store has received from a process that was killed, it completes in this time. */
const RECEIVED_MS = 3_000;

/**
 * `starting`: the new index is created. `switching`: mutations wait for the last copies. `finishing`: they wait until these are visible. The last
 * three have ended.
 */
export const MOVE_PHASES = [
	...(["starting", "copying", "switching", "finishing"] as const),
	...(["completed", "failed", "cancelled"] as const),
];
export type MovePhase = (typeof MOVE_PHASES)[number];

export interface IndexMove {
	account: string;
	/** The index in its new store. */
	target: VectorIndexRecord;
	phase: MovePhase;
	/** Vectors at the start. */
	total: number;
	copied: number;
	/** The page of the list that is copied next. */
	cursor?: string;
	/** Mutations wait until then. Epoch milliseconds. */
	pausedUntil: number;
	/** Larger in each run of the work. A run with a smaller one has ended. */
	fence: number;
	/** Mutations that were written to learn when all earlier ones are visible, and when the first one was. */
	markers?: { ids: readonly string[]; since: number };
	error?: string;
}

export interface ChangedId {
	id: string;
	change: number;
}

const ENDED: ReadonlySet<MovePhase> = new Set(["completed", "failed", "cancelled"]);
export const isRunning = ({ phase }: IndexMove): boolean => !ENDED.has(phase);

/** A mutation that is going to be written. */
export interface NewMutation {
	/** The object of the index, as the isolate knows it. */
	object: string;
	bytes: number;
	maxBytes: number;
	/** Of the vectors that it changes. */
	ids: readonly string[];
}

/** `full`: no room. `wait`: the index moves, and its last changes are copied. `moved`: it is in another store. `number`: to be ended. */
export type MutationStart =
	| { outcome: "gone" }
	| { outcome: "full" }
	| { outcome: "wait" }
	| { outcome: "moved"; record: VectorIndexRecord }
	| { outcome: "write"; number?: number };

export class MoveTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(`${MOVES}; ${CHANGED}; ${RUNNING}`);
		addColumns(sql, "running_mutations", RUNNING_COLUMNS);
	}

	/** Mutations run only in the process of the registry, so those of its earlier lives have ended. */
	endOthers(process: string, now: number): void {
		this.#sql.exec(
			"UPDATE running_mutations SET until = min(until, ?) WHERE process IS NOT ?",
			now + RECEIVED_MS,
			process,
		);
	}

	get(name: string): IndexMove | undefined {
		const [row] = this.#sql.exec<{ json: string }>("SELECT json FROM moves WHERE name = ?", name).toArray();
		return row && JSON.parse(row.json);
	}

	/** A move that runs. */
	running(name: string): IndexMove | undefined {
		const move = this.get(name);
		return move && isRunning(move) ? move : undefined;
	}

	allRunning(): { name: string; move: IndexMove }[] {
		return this.#sql
			.exec<{ name: string; json: string }>("SELECT name, json FROM moves")
			.toArray()
			.map(({ json, name }) => ({ name, move: JSON.parse(json) as IndexMove }))
			.filter(({ move }) => isRunning(move));
	}

	set(name: string, move: IndexMove): void {
		this.#sql.exec("INSERT OR REPLACE INTO moves VALUES (?, ?)", name, JSON.stringify(move));
	}

	/** What belongs to a move that has ended. */
	forget(name: string): void {
		this.#sql.exec("DELETE FROM changed_ids WHERE name = ?", name);
		this.#sql.exec("DELETE FROM running_mutations WHERE name = ?", name);
	}

	delete(name: string): void {
		this.forget(name);
		this.#sql.exec("DELETE FROM moves WHERE name = ?", name);
	}

	/** Announces a mutation. Returns its number. */
	begin(name: string, ids: readonly string[], { now, process }: { now: number; process: string }): number {
		const json = JSON.stringify(ids);
		const { number } = this.#sql
			.exec<{ number: number }>(
				"INSERT INTO running_mutations (name, ids, until, process) VALUES (?, ?, ?, ?) RETURNING number",
				name,
				json,
				now + MUTATION_MS,
				process,
			)
			.one();
		this.#mark(name, json);
		return number;
	}

	/** The mutation goes on. */
	renew(number: number, now: number): void {
		this.#sql.exec("UPDATE running_mutations SET until = ? WHERE number = ?", now + MUTATION_MS, number);
	}

	/** The mutation has ended, or has failed. `false`: it counted as ended before, so the move may lack it. */
	end(number: number): boolean {
		const [row] = this.#sql
			.exec<{ name: string; ids: string }>(
				"DELETE FROM running_mutations WHERE number = ? RETURNING name, ids",
				number,
			)
			.toArray();
		if (row) this.#mark(row.name, row.ids);
		return row !== undefined;
	}

	#mark(name: string, ids: string): void {
		const { last } = this.#sql
			.exec<{ last: number | null }>("SELECT max(change) AS last FROM changed_ids WHERE name = ?", name)
			.one();
		this.#sql.exec(
			"INSERT OR REPLACE INTO changed_ids SELECT ?, value, ? FROM json_each(?)",
			name,
			(last ?? 0) + 1,
			ids,
		);
	}

	/** Mutations that have not ended. */
	runningMutations(name: string, now: number): number {
		const lost = this.#sql
			.exec<{ number: number }>(
				"SELECT number FROM running_mutations WHERE name = ? AND until <= ?",
				name,
				now,
			)
			.toArray();
		for (const { number } of lost) this.end(number);
		return this.#sql
			.exec<{ count: number }>("SELECT count(*) AS count FROM running_mutations WHERE name = ?", name)
			.one().count;
	}

	changed(name: string, limit: number): ChangedId[] {
		return this.#sql
			.exec<ChangedId & Record<string, SqlStorageValue>>(
				"SELECT id, change FROM changed_ids WHERE name = ? LIMIT ?",
				name,
				limit,
			)
			.toArray();
	}

	changes(name: string): number {
		return this.#sql
			.exec<{ count: number }>("SELECT count(*) AS count FROM changed_ids WHERE name = ?", name)
			.one().count;
	}

	/** Vectors are copied as they were before the changes that follow. */
	copied(name: string, ids: readonly ChangedId[]): void {
		this.#sql.exec(
			`DELETE FROM changed_ids WHERE name = ? AND (id, change) IN (
				SELECT json_extract(value, '$.id'), json_extract(value, '$.change') FROM json_each(?))`,
			name,
			JSON.stringify(ids),
		);
	}
}
