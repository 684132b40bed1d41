/**
 * The part of the `SearchInstance` object with cached answers. An answer is found by the same question, or by a similar one, of requests that
 * are otherwise equal. All answers die when an item changes, so that none is older than what it was made of.
 */
import { RpcTarget } from "cloudflare:workers";
import { bandsOf, shinglesOf, similarity } from "../cache/shingles.ts";

/** Written by chats and searches. Rows die with their time, with a change of the items, or when there are too many. */
const ANSWERS = `CREATE TABLE IF NOT EXISTS answers (
	number INTEGER PRIMARY KEY,
	scope TEXT NOT NULL,
	question TEXT NOT NULL,
	shingles TEXT NOT NULL,
	body TEXT NOT NULL,
	expires_at INTEGER NOT NULL,
	UNIQUE (scope, question)
)`;
const BANDS = `CREATE TABLE IF NOT EXISTS answer_bands (
	scope TEXT NOT NULL,
	band INTEGER NOT NULL,
	value INTEGER NOT NULL,
	answer INTEGER NOT NULL,
	PRIMARY KEY (scope, band, value, answer)
) WITHOUT ROWID; CREATE INDEX IF NOT EXISTS answer_bands_by_answer ON answer_bands (answer)`;
/** One row. `version`: it counts the changes of items. */
const VERSION = `CREATE TABLE IF NOT EXISTS answer_version (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	version INTEGER NOT NULL
); INSERT OR IGNORE INTO answer_version VALUES (1, 0)`;

const MAX_ANSWERS = 1_000;
/** Of one question. */
const MAX_CANDIDATES = 50;

export interface CachedQuestion {
	/** A hash of the rest of the request, and of the configuration. */
	scope: string;
	question: string;
}

export class AnswerTable extends RpcTarget {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		super();
		this.#sql = sql;
		sql.exec(`${ANSWERS}; ${BANDS}; ${VERSION}`);
	}

	/** The most similar answer of at least this similarity. `version`: for {@link put}. */
	find(
		{ question, scope }: CachedQuestion,
		{ least, now }: { least: number; now: number },
	): { body?: string; version: number } {
		const version = this.#version;
		const [same] = this.#sql
			.exec<{ body: string }>(
				"SELECT body FROM answers WHERE scope = ? AND question = ? AND expires_at > ?",
				scope,
				question,
				now,
			)
			.toArray();
		if (same) return { body: same.body, version };
		const shingles = shinglesOf(question);
		const counts = new Map<number, number>();
		for (const [band, value] of bandsOf(shingles).entries())
			for (const { answer } of this.#sql
				.exec<{ answer: number }>(
					"SELECT answer FROM answer_bands WHERE scope = ? AND band = ? AND value = ? LIMIT ?",
					scope,
					band,
					value,
					MAX_CANDIDATES,
				)
				.toArray())
				counts.set(answer, (counts.get(answer) ?? 0) + 1);
		const candidates = [...counts].sort(([, one], [, other]) => other - one).slice(0, MAX_CANDIDATES);
		let best: { body: string; score: number } | undefined;
		for (const [number] of candidates) {
			const [row] = this.#sql
				.exec<{ shingles: string; body: string }>(
					"SELECT shingles, body FROM answers WHERE number = ? AND expires_at > ?",
					number,
					now,
				)
				.toArray();
			const score = row ? similarity(shingles, JSON.parse(row.shingles)) : 0;
			if (row && score >= least && score > (best?.score ?? 0)) best = { body: row.body, score };
		}
		return { version, ...(best && { body: best.body }) };
	}

	/** Not if an item has changed since `version`. */
	put(
		{ question, scope }: CachedQuestion,
		{ body, expiresAt, now, version }: { body: string; version: number; now: number; expiresAt: number },
	): void {
		if (version !== this.#version) return;
		this.#delete("scope = ? AND question = ?", scope, question);
		this.#delete("expires_at <= ?", now);
		const shingles = shinglesOf(question);
		const { number } = this.#sql
			.exec<{ number: number }>(
				"INSERT INTO answers (scope, question, shingles, body, expires_at) VALUES (?, ?, ?, ?, ?) RETURNING number",
				scope,
				question,
				JSON.stringify(shingles),
				body,
				expiresAt,
			)
			.one();
		for (const [band, value] of bandsOf(shingles).entries())
			this.#sql.exec("INSERT INTO answer_bands VALUES (?, ?, ?, ?)", scope, band, value, number);
		this.#delete("number <= (SELECT number FROM answers ORDER BY number DESC LIMIT 1 OFFSET ?)", MAX_ANSWERS);
	}

	/** An item has changed. */
	clear(): void {
		this.#sql.exec(
			"DELETE FROM answers; DELETE FROM answer_bands; UPDATE answer_version SET version = version + 1",
		);
	}

	#delete(condition: string, ...values: (string | number)[]): void {
		this.#sql.exec(
			`DELETE FROM answer_bands WHERE answer IN (SELECT number FROM answers WHERE ${condition})`,
			...values,
		);
		this.#sql.exec(`DELETE FROM answers WHERE ${condition}`, ...values);
	}

	/** For the scope of answers from several instances. */
	version(): number {
		return this.#version;
	}

	get #version(): number {
		return this.#sql.exec<{ version: number }>("SELECT version FROM answer_version").one().version;
	}
}
