/**
 * The `StreamRun` object: the events of one stream, which its caller can resume. The Worker that reads the stream writes them while they
 * arrive. `fetch` answers with the events from an index on, and with the later ones when they arrive.
 */
import { DurableObject } from "cloudflare:workers";
import { concat } from "../../media/bytes.ts";
import { brokenOff } from "../../streams/broken-off.ts";
import { EventSplitter } from "../../streams/event-splitter.ts";

/** The events are kept this long after the last one. */
export const KEPT_MS = 330_000;

/** One row, written by `begin`, `append` and `finish`. `state`: `live`, `ended` or `failed`. */
const RUN = `CREATE TABLE run (
	account TEXT NOT NULL,
	gateway TEXT NOT NULL,
	content_type TEXT NOT NULL,
	state TEXT NOT NULL,
	events INTEGER NOT NULL,
	written_at INTEGER NOT NULL
)`;
/** Written by `append`. `first_event`: the index of the row's first event; NULL if the row continues the one before. */
const PIECES = "CREATE TABLE pieces (piece INTEGER PRIMARY KEY, first_event INTEGER, content BLOB NOT NULL)";

/** A row has at most 2 MB. */
const PIECE_BYTES = 1024 * 1024;

interface RunRow extends Record<string, SqlStorageValue> {
	account: string;
	gateway: string;
	content_type: string;
	state: "live" | "ended" | "failed";
	events: number;
	written_at: number;
}

export interface RunOwner {
	account: string;
	gateway: string;
}

export class StreamRun extends DurableObject {
	readonly #sql: SqlStorage;
	/** Whether the tables exist. */
	#exists: boolean;
	/** The readers that wait for an event. */
	readonly #waiting = new Set<() => void>();

	constructor(ctx: DurableObjectState, env: Env) {
		super(ctx, env);
		this.#sql = ctx.storage.sql;
		const tables = this.#sql.exec("SELECT name FROM sqlite_master WHERE name = 'run'").toArray();
		this.#exists = tables.length > 0;
	}

	async begin({ account, gateway, contentType }: RunOwner & { contentType: string }): Promise<void> {
		this.#sql.exec(`${RUN}; ${PIECES}`);
		const now = Date.now();
		this.#sql.exec("INSERT INTO run VALUES (?, ?, ?, 'live', 0, ?)", account, gateway, contentType, now);
		this.#exists = true;
		await this.ctx.storage.setAlarm(now + KEPT_MS);
	}

	/** `content`: complete events, or the end of the stream. */
	append(content: Uint8Array, events: number): void {
		const run = this.#run();
		if (run?.state !== "live") return;
		for (let at = 0; at < content.length; at += PIECE_BYTES)
			this.#sql.exec(
				"INSERT INTO pieces (first_event, content) VALUES (?, ?)",
				at === 0 ? run.events : null,
				content.slice(at, at + PIECE_BYTES),
			);
		this.#sql.exec("UPDATE run SET events = events + ?, written_at = ?", events, Date.now());
		this.#wake();
	}

	/** The stream has ended. */
	finish(state: "ended" | "failed"): void {
		if (this.#run()?.state !== "live") return;
		this.#sql.exec("UPDATE run SET state = ?, written_at = ?", state, Date.now());
		this.#wake();
	}

	/** Deletes the events. Readers get an error. */
	async discard(): Promise<void> {
		this.#exists = false;
		await this.ctx.storage.deleteAlarm();
		await this.ctx.storage.deleteAll();
		this.#wake();
	}

	override async alarm(): Promise<void> {
		const run = this.#run();
		if (!run) return;
		const expiry = run.written_at + KEPT_MS;
		if (expiry > Date.now()) await this.ctx.storage.setAlarm(expiry);
		else await this.discard();
	}

	/** `GET /?account=…&gateway=…&from=…`. 404 for an expired run, and for one of another account or gateway. */
	override async fetch(request: Request): Promise<Response> {
		const query = new URL(request.url).searchParams;
		const run = this.#run();
		const isOwner = run?.account === query.get("account") && run?.gateway === query.get("gateway");
		if (!run || !isOwner || run.written_at + KEPT_MS <= Date.now())
			return new Response(null, { status: 404 });
		return new Response(this.#events(Number(query.get("from"))), {
			headers: { "content-type": run.content_type, "cache-control": "no-cache" },
		});
	}

	#events(from: number): ReadableStream<Uint8Array> {
		/** The last row that was read. */
		let last = 0;
		/** Events before `from`, in the rows that come next. */
		let skip = from;
		const start = this.#sql
			.exec<{ piece: number; first_event: number }>(
				"SELECT piece, first_event FROM pieces WHERE first_event <= ? ORDER BY piece DESC LIMIT 1",
				from,
			)
			.toArray()[0];
		if (start) {
			last = start.piece - 1;
			skip -= start.first_event;
		}
		const skipper = new EventSkipper(skip);
		return new ReadableStream<Uint8Array>({
			pull: async (controller) => {
				for (;;) {
					const rows = this.#exists
						? this.#sql
								.exec<{ piece: number; content: ArrayBuffer }>(
									"SELECT piece, content FROM pieces WHERE piece > ? ORDER BY piece",
									last,
								)
								.toArray()
						: [];
					last = rows.at(-1)?.piece ?? last;
					const bytes = skipper.rest(concat(rows.map(({ content }) => new Uint8Array(content))));
					if (bytes.length > 0) {
						controller.enqueue(bytes);
						return;
					}
					if (rows.length > 0) continue;
					const state = this.#run()?.state;
					if (state === "ended") controller.close();
					else if (state !== "live") controller.error(brokenOff(new Error("The stream was interrupted")));
					if (state !== "live") return;
					const { promise, resolve } = Promise.withResolvers<void>();
					this.#waiting.add(resolve);
					await promise;
				}
			},
		});
	}

	#run(): RunRow | undefined {
		return this.#exists ? this.#sql.exec<RunRow>("SELECT * FROM run").one() : undefined;
	}

	#wake(): void {
		for (const resolve of this.#waiting) resolve();
		this.#waiting.clear();
	}
}

/** Removes the first events of a stream. */
class EventSkipper {
	readonly #splitter = new EventSplitter();
	#skip: number;

	constructor(events: number) {
		this.#skip = events;
	}

	/** The part of the next bytes that is not skipped. The bytes end at an event's end, unless the stream ends with them. */
	rest(bytes: Uint8Array): Uint8Array {
		if (this.#skip === 0) return bytes;
		const { bytes: complete, ends } = this.#splitter.push(bytes);
		if (ends.length < this.#skip) {
			this.#skip -= ends.length;
			return new Uint8Array();
		}
		const start = ends[this.#skip - 1] ?? 0;
		this.#skip = 0;
		return concat([complete.subarray(start), this.#splitter.takeRemainder()]);
	}
}
