/** The lines of the batches of an account: where they are in their input, their runs and their results. */
import type { ClaimedLine, NewLine, ResultsPart } from "../batches/records.ts";

/**
 * Written by the validation, and at the start and the end of each run. `state`: queued, running or ended. `tickets`: JSON, those of the
 * run. Lines die when their batch ends.
 */
const LINES = `CREATE TABLE IF NOT EXISTS lines (
	batch TEXT NOT NULL,
	line INTEGER NOT NULL,
	custom_id TEXT NOT NULL,
	offset INTEGER NOT NULL,
	length INTEGER NOT NULL,
	state TEXT NOT NULL DEFAULT 'queued',
	start_at INTEGER NOT NULL DEFAULT 0,
	attempts INTEGER NOT NULL DEFAULT 0,
	tickets TEXT NOT NULL DEFAULT '[]',
	PRIMARY KEY (batch, line)
) WITHOUT ROWID`;
const BY_ID = "CREATE UNIQUE INDEX IF NOT EXISTS lines_by_id ON lines (batch, custom_id)";
const BY_STATE = "CREATE INDEX IF NOT EXISTS lines_by_state ON lines (batch, state, line)";
/** Lines of the files of results, in pieces, because a row has at most 2 MB. Written with the end of a line's run. They die with the batch's end. */
const RESULTS = `CREATE TABLE IF NOT EXISTS results (
	batch TEXT NOT NULL,
	is_error INTEGER NOT NULL,
	line INTEGER NOT NULL,
	piece INTEGER NOT NULL,
	text TEXT NOT NULL,
	PRIMARY KEY (batch, is_error, line, piece)
) WITHOUT ROWID`;

/** A character has at most 3 bytes. */
const PIECE_CHARACTERS = 400_000;
/** Of one call that reads results. */
const PART_CHARACTERS = 2_000_000;
const ROWS_AT_ONCE = 64;
/** A line that waits longer is tried before: a limit may be raised, and the clock may be set back. */
const MAX_WAIT_MS = 10 * 60_000;

interface LineRow extends Record<string, SqlStorageValue> {
	line: number;
	custom_id: string;
	offset: number;
	length: number;
	attempts: number;
	tickets: string;
}

export class LineTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(`${LINES}; ${BY_ID}; ${BY_STATE}; ${RESULTS}`);
	}

	/** Returns the lines whose id another line has. They are not added. */
	add(batch: string, lines: readonly NewLine[]): number[] {
		const duplicates: number[] = [];
		for (const { line, customId, offset, length } of lines) {
			const { rowsWritten } = this.#sql.exec(
				"INSERT OR IGNORE INTO lines (batch, line, custom_id, offset, length) VALUES (?, ?, ?, ?, ?)",
				...[batch, line, customId, offset, length],
			);
			if (rowsWritten === 0) duplicates.push(line);
		}
		return duplicates;
	}

	/** Starts lines that may run now: at most `count` with `maxBytes` together, but at least one. */
	claim(
		batch: string,
		{ count, maxBytes, now, ticket }: { count: number; maxBytes: number; now: number; ticket(): string },
	): ClaimedLine[] {
		const claimed: ClaimedLine[] = [];
		let bytes = 0;
		const rows = this.#rows(
			"WHERE batch = ? AND state = 'queued' AND (start_at <= ? OR start_at > ?) ORDER BY line LIMIT ?",
			...[batch, now, now + MAX_WAIT_MS, count],
		);
		for (const row of rows) {
			bytes += row.length;
			if (bytes > maxBytes && claimed.length > 0) break;
			const line = { ...lineOf(row), attempts: row.attempts, ticket: ticket() };
			this.#sql.exec(
				"UPDATE lines SET state = 'running', tickets = ? WHERE batch = ? AND line = ?",
				...[JSON.stringify([line.ticket]), batch, line.line],
			);
			claimed.push(line);
		}
		return claimed;
	}

	/** A run has a further ticket. Returns whether the line runs with the first one. */
	addTicket(batch: string, line: number, { first, ticket }: { first: string; ticket: string }): boolean {
		const tickets = this.runningTickets(batch, line);
		if (tickets[0] !== first) return false;
		this.#sql.exec(
			"UPDATE lines SET tickets = ? WHERE batch = ? AND line = ?",
			...[JSON.stringify([...tickets, ticket]), batch, line],
		);
		return true;
	}

	/** Empty: the line does not run. */
	runningTickets(batch: string, line: number): string[] {
		const [row] = this.#rows("WHERE batch = ? AND line = ? AND state = 'running'", batch, line);
		return row ? (JSON.parse(row.tickets) as string[]) : [];
	}

	/** The line has its result. */
	end(batch: string, line: number, { text, isError }: { text: string; isError: boolean }): void {
		this.#sql.exec(
			"UPDATE lines SET state = 'ended', tickets = '[]' WHERE batch = ? AND line = ?",
			batch,
			line,
		);
		let piece = 0;
		for (let at = 0; at < text.length; piece++) {
			const cut = at + PIECE_CHARACTERS;
			// A surrogate pair stays whole, because SQLite has no halves.
			const end = /[\uD800-\uDBFF]/.test(text.charAt(cut - 1)) && cut < text.length ? cut - 1 : cut;
			this.#sql.exec(
				"INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?)",
				...[batch, Number(isError), line, piece, text.slice(at, end)],
			);
			at = end;
		}
	}

	/** The line waits for another run. */
	again(
		batch: string,
		line: number,
		{ startAt, counts, now }: { startAt: number; counts: boolean; now: number },
	): void {
		this.#sql.exec(
			"UPDATE lines SET state = 'queued', tickets = '[]', start_at = ?, attempts = attempts + ? WHERE batch = ? AND line = ?",
			...[Math.min(startAt, now + MAX_WAIT_MS), Number(counts), batch, line],
		);
	}

	/** Lines of a run that has ended with its process wait again. Returns their tickets. */
	restart(batch: string): { lines: number; tickets: string[] } {
		const rows = this.#sql
			.exec<{ tickets: string }>("SELECT tickets FROM lines WHERE batch = ? AND state = 'running'", batch)
			.toArray();
		this.#sql.exec(
			"UPDATE lines SET state = 'queued', tickets = '[]' WHERE batch = ? AND state = 'running'",
			batch,
		);
		return { lines: rows.length, tickets: rows.flatMap(({ tickets }) => JSON.parse(tickets) as string[]) };
	}

	/** When the next line may start. `undefined`: none waits. */
	nextStart(batch: string): number | undefined {
		const { next } = this.#sql
			.exec<{ next: number | null }>(
				"SELECT min(start_at) AS next FROM lines WHERE batch = ? AND state = 'queued'",
				batch,
			)
			.one();
		return next ?? undefined;
	}

	/** Lines without a result, after a line. */
	unfinished(batch: string, after: number): Pick<NewLine, "line" | "customId">[] {
		return this.#rows(
			"WHERE batch = ? AND state <> 'ended' AND line > ? ORDER BY line LIMIT 1000",
			batch,
			after,
		).map(({ line, custom_id }) => ({ line, customId: custom_id }));
	}

	/** Results in the order of their lines, from a piece on. */
	results(batch: string, isError: boolean, from: { line: number; piece: number }): ResultsPart {
		let text = "";
		let { line, piece } = from;
		for (;;) {
			const rows = this.#sql
				.exec<{ line: number; piece: number; text: string }>(
					`SELECT line, piece, text FROM results WHERE batch = ? AND is_error = ? AND (line, piece) >= (?, ?)
					ORDER BY line, piece LIMIT ?`,
					...[batch, Number(isError), line, piece, ROWS_AT_ONCE],
				)
				.toArray();
			for (const row of rows) {
				text += row.text;
				line = row.line;
				piece = row.piece + 1;
				if (text.length >= PART_CHARACTERS) return { text, next: { line, piece } };
			}
			if (rows.length < ROWS_AT_ONCE) return { text };
		}
	}

	delete(batch: string): void {
		this.#sql.exec("DELETE FROM lines WHERE batch = ?", batch);
		this.#sql.exec("DELETE FROM results WHERE batch = ?", batch);
	}

	#rows(condition: string, ...values: SqlStorageValue[]): LineRow[] {
		return this.#sql
			.exec<LineRow>(
				`SELECT line, custom_id, offset, length, attempts, tickets FROM lines ${condition}`,
				...values,
			)
			.toArray();
	}
}

const lineOf = ({ line, custom_id, offset, length }: LineRow): NewLine => ({
	line,
	customId: custom_id,
	offset,
	length,
});
