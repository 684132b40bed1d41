/** A disk with less free space than the reserve: accounts are written, and nothing else. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { diskSpace } from "../../src/core/disk-space.ts";
import { AiError } from "../../src/core/errors.ts";
import { objectUnavailable } from "../../src/core/object-failure.ts";
import { runBytes } from "../../src/core/process-counts.ts";
import { RuntimeDelay } from "../../src/core/runtime-delay.ts";
import { RunBytes, type StreamRunCalls } from "../../src/gateways/client/run-bytes.ts";
import { Jobs } from "../../src/jobs/client/jobs.ts";
import { StoredResponses } from "../../src/responses/client/stored-responses.ts";
import { SearchInstances } from "../../src/retrieval/search/client/search-instances.ts";
import { builtinStore } from "../../src/retrieval/vectors/client/builtin-store.ts";
import { VectorIndexes } from "../../src/retrieval/vectors/client/vector-indexes.ts";
import type { VectorIndexRecord } from "../../src/retrieval/vectors/records.ts";
import { AccountBlobs } from "../../src/storage/blobs/account-blobs.ts";
import { QueueClient } from "../../src/storage/queue/queue-client.ts";
import { connections, GuardCounts } from "../../src/surfaces/operations/guard-counts.ts";
import { completion, ENGINE_VARS, testGateway, upstream } from "../gateway.ts";
import { droppedOf } from "../gateways/client/dropped.ts";

const MODEL = "@cf/openai/gpt-oss-120b";
const GIB = 1024 ** 3;
const LOW = { name: "disk_bytes", used: 20 * GIB, limit: 19 * GIB, refused: 0 };

beforeEach(() => diskSpace.set(LOW));
afterEach(() => diskSpace.set(undefined));

const newGateway = () => {
	const engine = upstream(() => Response.json(completion("Hello")));
	return { ...testGateway({ vars: ENGINE_VARS, fetch: engine.fetch }), requests: engine.requests };
};
const BLOBS = { contents: () => undefined, maxBytes: () => 1_000, uuid: () => "id" };
const RESPONSES = { bounds: testGateway().services.storedResponses.bounds, now: () => 0 };
const INDEX: VectorIndexRecord = {
	...{ name: "docs", dimensions: 2, metric: "cosine", store: "builtin", object: "team/1" },
	...{ delayMs: 0, createdAt: 0, modifiedAt: 0 },
};
type Indexes = ConstructorParameters<typeof VectorIndexes>[0];
type Instances = ConstructorParameters<typeof SearchInstances>[0];
/** The services that a failed call uses. */
const withSettings = <Services>(services: Partial<Services>): Services =>
	({ settings: { placement: { stores: new Map() } }, ...services }) as unknown as Services;
const CHAT = { model: MODEL, messages: [{ role: "user", content: "Hi" }] };

describe("a full disk", () => {
	it("does not stop models: the answer is billed, and has no log and no place in the cache", async () => {
		const { post, services, requests } = newGateway();
		const before = droppedOf(services.gatewayLogs, "log");
		const headers = { "cf-aig-gateway-id": "full-disk", "cf-aig-cache-ttl": "600" };
		for (let n = 0; n < 2; n++) {
			const answer = await post("/v1/chat/completions", CHAT, { headers });
			expect(answer.status).toBe(200);
			expect(answer.headers.get("cf-aig-cache-status")).toBe("MISS");
			await answer.text();
		}
		expect(requests).toHaveLength(2);
		expect(droppedOf(services.gatewayLogs, "log")).toBe(before + 2);
		diskSpace.set({ ...LOW, used: 18 * GIB });
		const written = await post("/v1/chat/completions", CHAT, { headers });
		await written.text();
		await expect
			.poll(async () => {
				const answer = await post("/v1/chat/completions", CHAT, { headers });
				await answer.text();
				return answer.headers.get("cf-aig-cache-status");
			})
			.toBe("HIT");
	});

	it("refuses to store a response before the model runs, and answers one that is not stored", async () => {
		const { post, requests } = newGateway();
		const refused = await post("/v1/responses", { model: MODEL, input: "Hi" });
		expect(refused.status).toBe(503);
		expect(refused.headers.get("retry-after")).toBe("10");
		expect(await refused.json()).toMatchObject({
			error: {
				message:
					'The disk of the gateway is full or cannot be written: it stores no responses. Send "store": false',
			},
		});
		expect(requests).toHaveLength(0);
		expect((await post("/v1/responses", { model: MODEL, input: "Hi", store: false })).status).toBe(200);
		expect((await post("/v1/conversations", { items: [] })).status).toBe(503);
	});

	it("is reported with the refusals", () => {
		const [before] = diskSpace.reports();
		expect(diskSpace.mayWrite()).toBe(false);
		expect(diskSpace.reports()).toEqual([{ ...LOW, refused: (before?.refused ?? 0) + 1 }]);
		diskSpace.set(undefined);
		expect(diskSpace.mayWrite()).toBe(true);
		expect(diskSpace.reports()).toEqual([]);
	});

	it("is the reason that an object cannot be called: 503", () => {
		const cause = new Error("disk I/O error");
		expect(objectUnavailable(cause)).toMatchObject({ code: 7009, status: 503, retryAfter: 10, cause });
		diskSpace.set(undefined);
		expect(objectUnavailable(cause)).toMatchObject({ code: 7009, status: 502, cause });
	});

	it.each<[string, (broken: () => never) => Promise<unknown>]>([
		["files", (object) => new Jobs({ object, bounds: testGateway().services.jobs.bounds }).usage("team")],
		["the queue", (object) => new QueueClient(object).counts()],
		["objects", (object) => new AccountBlobs("team", { ...BLOBS, object }).get("files/1")],
		["responses", (object) => new StoredResponses({ ...RESPONSES, object }).usage("team")],
		["indexes", (registry) => new VectorIndexes(withSettings<Indexes>({ registry })).list("team")],
		["an index", (object) => builtinStore({ account: "team", index: INDEX, object }).info()],
		[
			"AI Search",
			(object) => new SearchInstances(withSettings<Instances>({ searchRegistry: object })).usage("team"),
		],
	])("is the reason that the object of %s cannot be called: 503", async (_, call) => {
		const broken = (): never => {
			throw new Error("database or disk is full");
		};
		await expect(call(broken)).rejects.toMatchObject({
			...{ code: 7009, status: 503, retryAfter: 10 },
			message: expect.stringContaining("The disk of the gateway is full or cannot be written"),
		});
		diskSpace.set(undefined);
		await expect(call(broken)).rejects.toMatchObject({ code: 7009, status: 502 });
	});

	it("is known from the process that watches it, whose report leaves the counts of the guard", async () => {
		diskSpace.set(undefined);
		const reported = new GuardCounts();
		const Connections = connections(reported, new RuntimeDelay(Date.now));
		const entrypoint = new Connections(createExecutionContext(), env);
		const send = (...counts: object[]) =>
			entrypoint.fetch(new Request("http://counts", { method: "POST", body: JSON.stringify({ counts }) }));
		const guard = { name: "connections", used: 3, limit: 100, refused: 1 };
		await send(guard);
		await send(LOW);
		expect(reported.latest()).toEqual([guard]);
		expect(diskSpace.isLow).toBe(true);
		await send({ ...LOW, used: LOW.limit });
		expect(diskSpace.isLow).toBe(false);
	});
});

describe("the bytes of resumable streams", () => {
	const OWNER = { account: "team", gateway: "main", contentType: "text/event-stream" };
	const calls = (discard = async () => {}): StreamRunCalls =>
		({
			begin: async () => {},
			append: async () => {},
			finish: async () => {},
			discard,
		}) as unknown as StreamRunCalls;
	const used = (): number => runBytes.report().used;
	beforeEach(() => diskSpace.set(undefined));
	afterEach(() => runBytes.limitTo(Number.POSITIVE_INFINITY));

	it("are held until the object has expired", async () => {
		let now = 0;
		const bytes = new RunBytes(() => now);
		const before = used();
		const run = bytes.counted(calls(), "team");
		await run.begin(OWNER);
		await run.append(new Uint8Array(100_000), 1);
		await run.finish("ended");
		expect(used() - before).toBe(32 * 1024 + 100_000);
		now = 329_999;
		bytes.releaseExpired();
		expect(used() - before).toBe(32 * 1024 + 100_000);
		now = 330_000;
		bytes.releaseExpired();
		expect(used()).toBe(before);
	});

	it("are free when the run is discarded, or later if its object cannot be called", async () => {
		let now = 0;
		const bytes = new RunBytes(() => now);
		const before = used();
		const run = bytes.counted(calls(), "team");
		await run.begin(OWNER);
		await run.discard();
		expect(used()).toBe(before);
		const failing = bytes.counted(
			calls(() => Promise.reject(new Error("gone"))),
			"team",
		);
		await failing.begin(OWNER);
		await expect(failing.discard()).rejects.toThrow("gone");
		expect(used() - before).toBe(32 * 1024);
		now = 330_000;
		bytes.releaseExpired();
		expect(used()).toBe(before);
	});

	it("have a bound, of which one account gets a half", async () => {
		runBytes.limitTo(used() + 1_000_000);
		const bytes = new RunBytes(() => 0);
		const run = bytes.counted(calls(), "busy");
		await run.begin(OWNER);
		await run.append(new Uint8Array(450_000), 1);
		expect(() => run.append(new Uint8Array(100_000), 1)).toThrow(AiError);
		const other = bytes.counted(calls(), "other");
		await other.begin(OWNER);
		await other.append(new Uint8Array(200_000), 1);
		await run.discard();
		await other.discard();
	});
});
