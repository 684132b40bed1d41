/**
 * The built Worker with routes for its storage, and a handler of work. It imports `dist/worker/index.js` instead of `src/index.ts`.
 *
 * The results of the work are in one object, as a room has one: it commits each item once, and refuses an old fence.
 */
import { env } from "cloudflare:workers";
import worker, { BlobStore as BuiltBlobStore, StreamRun as BuiltStreamRun } from "../../src/index.ts";
import { createStorage, type StorageBindings } from "../../src/storage/create-storage.ts";
import type { WorkHandler, WorkRun } from "../../src/storage/queue/work.ts";
import { workEntrypoint } from "../../src/storage/queue/work-entrypoint.ts";

export * from "../../src/index.ts";

const ACCOUNT = "acme";
const KIND = "soak.step";
/** Items that run a model through the Worker's routes. */
const RUN_KIND = "soak.run";
const MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const MAX_BYTES = 1024 ** 3;
const STEP_MS = 3;

interface Bindings {
	BLOBS: DurableObjectNamespace<BlobStore>;
	WORK_QUEUE: StorageBindings["queue"];
	STREAM_RUN: DurableObjectNamespace<StreamRun>;
}

/** The object of a room. */
export class StreamRun extends BuiltStreamRun {
	/** @returns whether the result is new. */
	commitResult(key: string, fence: number): boolean {
		const { sql } = this.ctx.storage;
		sql.exec("CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, fence INTEGER, commits INTEGER)");
		const { rowsWritten } = sql.exec("INSERT OR IGNORE INTO results VALUES (?, ?, 1)", key, fence);
		return rowsWritten > 0;
	}

	results(): { results: number; fences: number } {
		const { sql } = this.ctx.storage;
		sql.exec("CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, fence INTEGER, commits INTEGER)");
		return sql
			.exec<{ results: number; fences: number }>(
				"SELECT count(*) AS results, count(DISTINCT fence) AS fences FROM results",
			)
			.one();
	}
}

export class BlobStore extends BuiltBlobStore {
	pieces(): number {
		return this.ctx.storage.sql.exec<{ pieces: number }>("SELECT count(*) AS pieces FROM pieces").one()
			.pieces;
	}
}

const commit = ({ key, fence }: WorkRun): Promise<boolean> =>
	(env as unknown as Bindings).STREAM_RUN.getByName("results").commitResult(key, fence);

const step: WorkHandler = {
	async run(item) {
		await scheduler.wait(STEP_MS);
		await commit(item);
	},
};

/** Items of four consecutive keys make identical requests. */
const modelRun: WorkHandler = {
	async run(item) {
		const { token } = item.payload as { token: string };
		const body = JSON.stringify({ prompt: `Summarize chapter ${Math.floor(Number(item.key) / 4)}` });
		const response = await worker.fetch(
			new Request(`http://gateway/client/v4/accounts/${ACCOUNT}/ai/run/${MODEL}`, {
				method: "POST",
				headers: { authorization: token, "x-ganglion-single-flight": "1" },
				body,
			}),
		);
		if (!response.ok) throw new Error(`status ${response.status}`);
		await response.body?.cancel();
		await commit(item);
	},
};

const HANDLERS: Readonly<Record<string, WorkHandler>> = { [KIND]: step, [RUN_KIND]: modelRun };

export class Work extends workEntrypoint(async (kind) => HANDLERS[kind]) {}

export default {
	async fetch(request: Request, { BLOBS, WORK_QUEUE, STREAM_RUN }: Bindings): Promise<Response> {
		const { pathname, searchParams } = new URL(request.url);
		const number = (name: string): number => Number(searchParams.get(name));
		const { blobs, queue } = createStorage(
			{ blobs: BLOBS, queue: WORK_QUEUE, services: { fetch, wait: (ms) => scheduler.wait(ms) } },
			{
				accountBytes: { others: MAX_BYTES, accounts: new Map() },
				queue: { accountItems: 0, accountConcurrency: 0, concurrency: 0 },
			},
		);
		const objects = blobs(ACCOUNT);
		const key = searchParams.get("key") ?? "";
		switch (`${request.method} ${pathname}`) {
			case "POST /soak/work": {
				const items = Array.from({ length: number("items") }, (_, index) => ({
					account: ACCOUNT,
					kind: searchParams.get("kind") ?? KIND,
					payload: { token: searchParams.get("token") },
					key: String(number("from") + index),
					startAt: Date.now() + number("delay"),
				}));
				return Response.json(await queue.enqueue(items));
			}
			case "GET /soak/work": {
				const results = await STREAM_RUN.getByName("results").results();
				const { items } = await queue.list({ account: ACCOUNT, limit: 1_000 });
				return Response.json({ ...results, items });
			}
			case "PUT /soak/object":
				return Response.json(await objects.put(key, request.body ?? new Uint8Array()));
			case "GET /soak/object": {
				const blob = await objects.get(key);
				return new Response(blob?.body ?? null, { status: blob ? 200 : 404 });
			}
			case "GET /soak/objects": {
				const pieces = await BLOBS.getByName(ACCOUNT).pieces();
				return Response.json({ ...(await objects.list()), usage: await objects.usage(), pieces });
			}
			default:
				return worker.fetch(request);
		}
	},
};
