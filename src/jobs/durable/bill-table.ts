/** Bills of lines that the account's object may not have yet, and counts since the object was created. */
import { NOTHING_USED, type Settlement } from "../../accounts/admission.ts";

/** Written in the same commit as the result of the line. A row dies when the account has the bill. `settlement`: JSON. */
const BILLS = `CREATE TABLE IF NOT EXISTS bills (
	ticket TEXT PRIMARY KEY,
	batch TEXT NOT NULL,
	settlement TEXT NOT NULL
) WITHOUT ROWID`;
const BY_BATCH = "CREATE INDEX IF NOT EXISTS bills_by_batch ON bills (batch)";
/** One row. */
const COUNTS = `CREATE TABLE IF NOT EXISTS line_counts (
	id INTEGER PRIMARY KEY CHECK (id = 0),
	finished INTEGER NOT NULL,
	repeated INTEGER NOT NULL
);
INSERT OR IGNORE INTO line_counts VALUES (0, 0, 0)`;
/** One row, which states of earlier versions do not have. */
const DISCARDED = `CREATE TABLE IF NOT EXISTS discarded_lines (
	id INTEGER PRIMARY KEY CHECK (id = 0),
	discarded INTEGER NOT NULL
);
INSERT OR IGNORE INTO discarded_lines VALUES (0, 0)`;

export class BillTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(`${BILLS}; ${BY_BATCH}; ${COUNTS}; ${DISCARDED}`);
	}

	add(batch: string, settlements: readonly Settlement[]): void {
		for (const settlement of settlements)
			this.#sql.exec(
				"INSERT OR IGNORE INTO bills VALUES (?, ?, ?)",
				...[settlement.ticket, batch, JSON.stringify(settlement)],
			);
	}

	/** Runs whose process has ended cost nothing: their lines run again. */
	addInterrupted(batch: string, tickets: readonly string[]): void {
		this.add(
			batch,
			tickets.map((ticket) => ({ ...NOTHING_USED, ticket, outcome: "failed" as const, latencyMs: 0 })),
		);
	}

	delete(tickets: readonly string[]): void {
		for (const ticket of tickets) this.#sql.exec("DELETE FROM bills WHERE ticket = ?", ticket);
	}

	of(batch: string): Settlement[] {
		return this.#sql
			.exec<{ settlement: string }>("SELECT settlement FROM bills WHERE batch = ?", batch)
			.toArray()
			.map(({ settlement }) => JSON.parse(settlement) as Settlement);
	}

	count({ finished = 0, repeated = 0 }: { finished?: number; repeated?: number }): void {
		this.#sql.exec(
			"UPDATE line_counts SET finished = finished + ?, repeated = repeated + ?",
			finished,
			repeated,
		);
	}

	/** Lines that end without a run. */
	countDiscarded(lines: number): void {
		if (lines > 0) this.#sql.exec("UPDATE discarded_lines SET discarded = discarded + ?", lines);
	}

	counts(): { finishedLines: number; repeatedLines: number; discardedLines: number } {
		return this.#sql
			.exec<{ finishedLines: number; repeatedLines: number; discardedLines: number }>(
				`SELECT finished AS finishedLines, repeated AS repeatedLines, discarded AS discardedLines
				FROM line_counts, discarded_lines`,
			)
			.one();
	}
}
