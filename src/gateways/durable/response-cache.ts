/**
 * The `ResponseCache` object: the cached answers of one gateway. The bytes of an answer are in several rows, because a row has at most
 * 2 MB. When an answer needs space, the ones that were not read for the longest time are deleted.
 */
import { DurableObject } from "cloudflare:workers";
import { hasPassed } from "../../core/elapsed.ts";
import { eraseObject } from "../../core/erase-object.ts";
import { concat } from "../../media/bytes.ts";
import { type KeptRegistries, KeptReporter } from "./kept-bytes.ts";

/** Written by `write`. A row is deleted when it expires, when its space is needed, or by a purge. Times: epoch milliseconds. */
const ANSWERS = `CREATE TABLE IF NOT EXISTS answers (
	key TEXT PRIMARY KEY,
	headers TEXT NOT NULL,
	bytes INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	read_at INTEGER NOT NULL
) WITHOUT ROWID`;
const INDEXES = `CREATE INDEX IF NOT EXISTS answers_by_expiry ON answers (expires_at);
CREATE INDEX IF NOT EXISTS answers_by_read ON answers (read_at)`;
/** Written and deleted with their answer. */
const PIECES = `CREATE TABLE IF NOT EXISTS pieces (
	key TEXT NOT NULL,
	piece INTEGER NOT NULL,
	content BLOB NOT NULL,
	PRIMARY KEY (key, piece)
) WITHOUT ROWID`;
/** The number of purges. One row. */
const PURGES = "CREATE TABLE IF NOT EXISTS purges (purges INTEGER NOT NULL)";

const PIECE_BYTES = 1024 * 1024;
/** Counted for a row, in addition to the bytes of its answer. */
const ROW_BYTES = 512;
/** The time of the last read has this precision, so that few reads write. */
const READ_PRECISION_MS = 60_000;

export interface StoredAnswer {
	headers: Record<string, string>;
	body: Uint8Array<ArrayBuffer>;
	/** Epoch milliseconds. */
	expiresAt: number;
}

/** `purges`: for a later write, which is ignored if a purge comes before it. */
export interface ReadResult {
	answer?: StoredAnswer;
	purges: number;
}

export interface WriteCall {
	key: string;
	headers: Record<string, string>;
	body: Uint8Array;
	ttlSeconds: number;
	purges: number;
	/** Of all answers of the gateway. */
	maxBytes: number;
	/** Of all gateways of the account. Absent: no bound. */
	accountMaxBytes?: number;
}

interface CacheBindings {
	GATEWAYS?: KeptRegistries;
}

export class ResponseCache extends DurableObject<CacheBindings> {
	readonly #sql: SqlStorage;
	readonly #kept: KeptReporter;
	#purges: number;
	/** Of all answers. */
	#bytes: number;

	constructor(ctx: DurableObjectState, env: CacheBindings) {
		super(ctx, env);
		this.#kept = new KeptReporter("cache", ctx.id.name, env.GATEWAYS);
		this.#sql = ctx.storage.sql;
		this.#sql.exec(`${ANSWERS}; ${INDEXES}; ${PIECES}; ${PURGES}`);
		this.#purges = this.#sql.exec<{ purges: number }>("SELECT purges FROM purges").toArray()[0]?.purges ?? 0;
		this.#bytes =
			this.#sql.exec<{ bytes: number | null }>(`SELECT sum(bytes + ${ROW_BYTES}) AS bytes FROM answers`).one()
				.bytes ?? 0;
	}

	read(key: string): ReadResult {
		const purges = this.#purges;
		const row = this.#sql
			.exec<{ headers: string; expires_at: number; read_at: number }>(
				"SELECT headers, expires_at, read_at FROM answers WHERE key = ?",
				key,
			)
			.toArray()[0];
		const now = Date.now();
		if (!row || row.expires_at <= now) return { purges };
		if (hasPassed(READ_PRECISION_MS, row.read_at, now))
			this.#sql.exec("UPDATE answers SET read_at = ? WHERE key = ?", now, key);
		const pieces = this.#sql
			.exec<{ content: ArrayBuffer }>("SELECT content FROM pieces WHERE key = ? ORDER BY piece", key)
			.toArray();
		const body = concat(pieces.map(({ content }) => new Uint8Array(content)));
		const headers = JSON.parse(row.headers) as Record<string, string>;
		return { purges, answer: { headers, body, expiresAt: row.expires_at } };
	}

	/** Replaces an answer with the same key. @returns whether the answer is stored. */
	async write(call: WriteCall): Promise<boolean> {
		const { key, headers, body, ttlSeconds, purges, accountMaxBytes: max } = call;
		const size = body.length + ROW_BYTES;
		const maxBytes = Math.min(call.maxBytes, this.#kept.allowed);
		if (purges !== this.#purges || size > maxBytes) return false;
		const now = Date.now();
		this.#delete("key = ?", key);
		this.#delete("expires_at <= ?", now);
		this.#evict(maxBytes - size);
		this.#sql.exec(
			"INSERT INTO answers VALUES (?, ?, ?, ?, ?)",
			key,
			JSON.stringify(headers),
			body.length,
			now + ttlSeconds * 1_000,
			now,
		);
		for (let at = 0, piece = 0; at < body.length; at += PIECE_BYTES, piece++)
			this.#sql.exec("INSERT INTO pieces VALUES (?, ?, ?)", key, piece, body.slice(at, at + PIECE_BYTES));
		this.#bytes += size;
		await this.#schedule();
		if (max !== undefined) await this.#kept.report({ bytes: this.#bytes, max, evicts: true });
		this.#evict(this.#kept.allowed);
		return true;
	}

	/** Deletes all answers. Answers of requests that started before are not stored. @returns the number of answers. */
	purge(): number {
		const { answers } = this.#sql.exec<{ answers: number }>("SELECT count(*) AS answers FROM answers").one();
		this.#purges++;
		this.#sql.exec("DELETE FROM answers; DELETE FROM pieces; DELETE FROM purges");
		this.#sql.exec("INSERT INTO purges VALUES (?)", this.#purges);
		this.#bytes = 0;
		return answers;
	}

	/** Deletes answers for other gateways of the account. Returns the bytes of the others. */
	deleteDownTo(bytes: number): number {
		this.#kept.allowed = bytes;
		this.#evict(bytes);
		return this.#bytes;
	}

	/** Deletes everything. Returns the number of rows. */
	erase(): Promise<number> {
		return eraseObject(this.ctx);
	}

	/** Deletes the answers that have expired. */
	override async alarm(): Promise<void> {
		this.#delete("expires_at <= ?", Date.now());
		await this.#schedule();
	}

	/** At the first expiry. */
	async #schedule(): Promise<void> {
		if ((await this.ctx.storage.getAlarm()) !== null) return;
		const { first } = this.#sql
			.exec<{ first: number | null }>("SELECT min(expires_at) AS first FROM answers")
			.one();
		if (first !== null) await this.ctx.storage.setAlarm(first);
	}

	#evict(maxBytes: number): void {
		while (this.#bytes > maxBytes) {
			const oldest = this.#sql
				.exec<{ key: string }>("SELECT key FROM answers ORDER BY read_at LIMIT 1")
				.toArray()[0];
			if (!oldest) return;
			this.#delete("key = ?", oldest.key);
		}
	}

	#delete(condition: "key = ?" | "expires_at <= ?", value: string | number): void {
		this.#sql.exec(`DELETE FROM pieces WHERE key IN (SELECT key FROM answers WHERE ${condition})`, value);
		for (const { bytes } of this.#sql.exec<{ bytes: number }>(
			`DELETE FROM answers WHERE ${condition} RETURNING bytes`,
			value,
		))
			this.#bytes -= bytes + ROW_BYTES;
	}
}
