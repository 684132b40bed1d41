/**
 * The built Worker with routes that store the same 10 KB in three ways, `?count=` times in turn: `POST /store/row` as a bare row, `/store/response`
 * as a response with its items, and `/store/object` as an object. It imports `dist/worker/index.js` instead of `src/index.ts`.
 */
import { timeOrderedUuid } from "../../src/core/time-ordered-uuid.ts";
import worker, { StreamRun as BuiltStreamRun } from "../../src/index.ts";
import { storeCalls } from "../../src/responses/client/stored-responses.ts";
import type { ResponseRecord, StoreBounds } from "../../src/responses/records.ts";
import { createStorage, type StorageBindings } from "../../src/storage/create-storage.ts";

export * from "../../src/index.ts";

const ACCOUNT = "bench";
const BYTES = 10_240;
/** Of a response of 10 KB: the object, a question, and the answer. */
const PARTS = { json: 1_024, question: 1_024, answer: 8_192 };
const MAX_BYTES = 8e9;
const BOUNDS: StoreBounds = { maxBytes: MAX_BYTES, maxResponses: 1e9, retentionMs: 30 * 86_400_000 };

interface Bindings {
	BLOBS: StorageBindings["blobs"];
	WORK_QUEUE: StorageBindings["queue"];
	RESPONSE_STORE: Parameters<typeof storeCalls>[0];
	STREAM_RUN: DurableObjectNamespace<StreamRun>;
}

/** An object with a bare table. */
export class StreamRun extends BuiltStreamRun {
	write(key: string, text: string): void {
		const { sql } = this.ctx.storage;
		sql.exec("CREATE TABLE IF NOT EXISTS bare (key TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID");
		sql.exec("INSERT INTO bare VALUES (?, ?)", key, text);
	}
}

const text = (bytes: number): string => JSON.stringify({ text: "a".repeat(bytes - '{"text":""}'.length) });

/** Made once, as the bare row: only the store counts. */
const texts = { json: text(PARTS.json), question: text(PARTS.question), answer: text(PARTS.answer) };

const record = (id: string): ResponseRecord => ({
	id: `resp_${id}`,
	owner: "operator",
	status: "completed",
	createdAt: Date.now(),
	json: texts.json,
	input: [{ id: `msg_${id}`, json: texts.question }],
	output: [{ id: `msg_${id}f`, json: texts.answer }],
});

type Store = (id: string, bindings: Bindings) => Promise<unknown>;

const row = text(BYTES);
const bytes = new TextEncoder().encode(row);

const STORES: Readonly<Record<string, Store>> = {
	row: async (id, { STREAM_RUN }) => STREAM_RUN.getByName("bare").write(id, row),
	response: (id, { RESPONSE_STORE }) => storeCalls(RESPONSE_STORE, ACCOUNT).save(record(id), BOUNDS),
	object: (id, { BLOBS, WORK_QUEUE }) => {
		const { blobs } = createStorage(
			{ blobs: BLOBS, queue: WORK_QUEUE, services: { fetch, wait: (ms) => scheduler.wait(ms) } },
			{
				accountBytes: { others: MAX_BYTES, accounts: new Map() },
				queue: { accountItems: 0, accountConcurrency: 0, concurrency: 0 },
			},
		);
		return blobs(ACCOUNT).put(`bench/${id}`, bytes);
	},
};

export default {
	async fetch(request: Request, bindings: Bindings): Promise<Response> {
		const { pathname, searchParams } = new URL(request.url);
		const [, name = ""] = /^\/store\/(\w+)$/.exec(pathname) ?? [];
		const store = STORES[name];
		if (!store) return worker.fetch(request);
		for (let left = Number(searchParams.get("count")); left > 0; left--)
			await store(timeOrderedUuid(Date.now(), crypto.randomUUID()).replaceAll("-", ""), bindings);
		return new Response("stored");
	},
};
