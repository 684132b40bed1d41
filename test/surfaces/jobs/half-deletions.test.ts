/** A deletion that fails after it has begun: requests do not find the object any more, and the alarm of the account deletes the rest. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { configure } from "../../../src/config/index.ts";
import { AiError } from "../../../src/core/errors.ts";
import { type BatchRecord, NO_USAGE } from "../../../src/jobs/batches/records.ts";
import { Jobs, jobCalls } from "../../../src/jobs/client/jobs.ts";
import type { JobStoreObject } from "../../../src/jobs/durable/job-store.ts";
import { createPersistent } from "../../../src/persistent-services.ts";
import { servicesOf } from "../../../src/services.ts";
import { BASE, testGateway } from "../../gateway.ts";
import { loraConfig, loraWeights } from "../../jobs/adapters/adapter-files.ts";

const MODEL = "@cf/mistral/mistral-7b-instruct-v0.2-lora";
const ANTHROPIC = { "anthropic-version": "2023-06-01" };
const ACCOUNT = "local";

afterEach(() => {
	vi.restoreAllMocks();
});

/** A gateway whose account's object is known. Its storage is shared, as the object itself calls it. */
function gatewayWithAlarm() {
	const gateway = testGateway();
	const { services } = gateway;
	const { storage } = servicesOf(configure({}), createPersistent(env, configure({})));
	const namespace = env.JOB_STORE as DurableObjectNamespace<JobStoreObject>;
	const name = crypto.randomUUID();
	let isBroken = false;
	const logged: unknown[] = [];
	const requestIds: string[] = [];
	services.uuid = () => crypto.randomUUID();
	services.jobs = new Jobs({ object: () => jobCalls(namespace, name), bounds: services.jobs.bounds });
	services.log = (error, requestId) => {
		logged.push(error.key);
		requestIds.push(requestId);
	};
	const unreachable = () => Promise.reject(new AiError("storageUnavailable"));
	services.storage = {
		...storage,
		blobs: (account) =>
			isBroken
				? Object.assign(storage.blobs(account), { delete: unreachable, deletePrefix: unreachable })
				: storage.blobs(account),
	};
	const send = async (method: string, path: string, init: RequestInit = {}) => {
		const response = await gateway.app.request(`${BASE}${path}`, { method, ...init });
		return { status: response.status, body: await response.json<Record<string, unknown>>() };
	};
	const form = (path: string, fields: Record<string, string | Blob>) => {
		const body = new FormData();
		for (const [field, value] of Object.entries(fields)) body.set(field, value);
		return send("POST", path, { body });
	};
	return {
		...{ form, logged, requestIds, send, services },
		async whileBroken<Result>(work: () => Promise<Result>): Promise<Result> {
			isBroken = true;
			try {
				return await work();
			} finally {
				isBroken = false;
			}
		},
		keys: async (part: string) =>
			(await storage.blobs(ACCOUNT).list()).blobs.map(({ key }) => key).filter((key) => key.includes(part)),
		alarm: () => runDurableObjectAlarm(namespace.getByName(name)),
		nextAlarm: () => runInDurableObject(namespace.getByName(name), (_, state) => state.storage.getAlarm()),
		/** Deletes all rows. Returns how many there were. */
		erase: () => namespace.getByName(name).erase(),
		/** The alarm cannot delete bytes whose key has this part. */
		keepInAlarm: (part: string, meanwhile: () => unknown = () => {}) =>
			runInDurableObject(namespace.getByName(name), (object) => {
				const refusing = (account: string) => {
					const blobs = storage.blobs(account);
					const unlessKept = async (work: () => Promise<number>, keys: string | readonly string[]) => {
						if (!String(keys).includes(part)) return work();
						await meanwhile();
						return unreachable();
					};
					return Object.assign(storage.blobs(account), {
						delete: (keys: string | string[]) => unlessKept(() => blobs.delete(keys), keys),
						deletePrefix: (prefix: string) => unlessKept(() => blobs.deletePrefix(prefix), prefix),
					});
				};
				Object.assign(object, {
					storage: () => ({ ...storage, blobs: refusing }),
					log: (error: AiError) => void logged.push(error.key),
				});
			}),
	};
}

type GatewayWithAlarm = ReturnType<typeof gatewayWithAlarm>;

async function batchOf(
	{ services }: GatewayWithAlarm,
	status: BatchRecord["status"],
	id = `msgbatch_${crypto.randomUUID()}`,
) {
	const record: BatchRecord = {
		...{ id, owner: "operator", api: "anthropic", endpoint: "/messages", inputKey: `batches/${id}` },
		...{ status, outputFile: id, createdAt: Date.now(), expiresAt: Date.now() },
		...{ total: 1, succeeded: 1, failed: 0, unfinished: 0, mistakes: [], usage: NO_USAGE },
	};
	const request = { caller: { account: ACCOUNT, credential: { kind: "operator" as const } }, headers: [] };
	await services.jobs.batches(ACCOUNT, (batches) =>
		batches.create(record, { request }, services.jobs.bounds),
	);
	const blobs = services.storage.blobs(ACCOUNT);
	for (const key of [`batches/${id}`, `files/${id}`]) await blobs.put(key, new Uint8Array(3));
	return { id, path: `/v1/messages/batches/${id}`, list: "/v1/messages/batches", bytes: 2 };
}

/** Each makes one object, and returns its id and the paths that delete and list it. */
const KINDS = {
	async adapter({ form, send }: GatewayWithAlarm, name = "support") {
		const init = { body: JSON.stringify({ model: MODEL, name }) };
		const { body } = await send("POST", "/finetunes", init);
		const { id } = body.result as { id: string };
		for (const [file_name, content] of [
			["adapter_config.json", loraConfig()],
			["adapter_model.safetensors", loraWeights()],
		] as const)
			await form(`/finetunes/${id}/finetune-assets`, { file_name, file: new Blob([content]) });
		return { id, path: `/finetunes/${id}`, list: "/finetunes", bytes: 2 };
	},
	async file({ form }: GatewayWithAlarm) {
		const file = new File(["{}"], "a.jsonl");
		const { id } = (await form("/v1/files", { purpose: "batch", file })).body as { id: string };
		return { id, path: `/v1/files/${id}`, list: "/v1/files", bytes: 1 };
	},
	batch: (gateway: GatewayWithAlarm) => batchOf(gateway, "completed"),
};

it.each(Object.entries(KINDS))(
	"a deleted %s is gone at once, and its bytes with the next alarm",
	async (_, make) => {
		const gateway = gatewayWithAlarm();
		const { alarm, keys, logged, send, whileBroken } = gateway;
		const { id, path, list, bytes } = await make(gateway);
		const listed = async () => JSON.stringify(await send("GET", list, { headers: ANTHROPIC }));
		expect(await listed()).toContain(id);
		expect(await whileBroken(() => send("DELETE", path, { headers: ANTHROPIC }))).toMatchObject({
			status: 200,
		});
		expect(logged).toEqual(["storageUnavailable"]);
		expect(gateway.requestIds).toEqual([expect.stringMatching(/./)]);
		expect(await listed()).not.toContain(id);
		expect((await send("DELETE", path, { headers: ANTHROPIC })).status).toBe(404);
		expect(await keys(id)).toHaveLength(bytes);
		expect(await alarm()).toBe(true);
		expect(await keys(id)).toEqual([]);
		expect(await gateway.services.jobs.usage(ACCOUNT)).toMatchObject({
			adapters: 0,
			files: 0,
			openBatches: 0,
		});
	},
);

it("an adapter is no longer found by requests while its bytes are left, and its name is free", async () => {
	const gateway = gatewayWithAlarm();
	const { send, services, whileBroken } = gateway;
	const { path } = await KINDS.adapter(gateway);
	await whileBroken(() => send("DELETE", path));
	const find = (adapters: Parameters<Parameters<typeof services.jobs.adapters>[1]>[0]) =>
		adapters.find("support");
	expect(await services.jobs.adapters(ACCOUNT, find)).toBeUndefined();
	const again = await KINDS.adapter(gateway);
	expect(await services.jobs.adapters(ACCOUNT, find)).toMatchObject({ id: again.id, name: "support" });
	expect(await services.jobs.adapters(ACCOUNT, (adapters) => adapters.ids())).toHaveLength(2);
	await gateway.alarm();
	expect(await services.jobs.adapters(ACCOUNT, (adapters) => adapters.ids())).toEqual([again.id]);
	expect(await gateway.keys(again.id)).toHaveLength(2);
});

it("a file of an adapter that is deleted during its upload is deleted with the next alarm", async () => {
	const gateway = gatewayWithAlarm();
	const { services } = gateway;
	const { id, path } = await KINDS.adapter(gateway);
	await gateway.send("DELETE", path);
	await services.storage.blobs(ACCOUNT).put(`adapters/${id}/late`, new Uint8Array(3));
	const file = { name: "adapter_config.json", key: `adapters/${id}/late`, bytes: 3, rank: 8 } as const;
	expect(await services.jobs.adapters(ACCOUNT, (adapters) => adapters.setFile(id, file))).toEqual({
		ok: false,
		reason: "missing",
	});
	await gateway.alarm();
	expect(await gateway.keys(id)).toEqual([]);
});

it.each(["adapter", "batch", "file"] as const)(
	"the alarm's deletion of one %s that fails is logged, delays no other, and is repeated after a minute",
	async (kind) => {
		const gateway = gatewayWithAlarm();
		const { alarm, keys, logged, send, whileBroken } = gateway;
		const stuck = await KINDS[kind](gateway, "stuck");
		const others = [
			await KINDS.adapter(gateway, "other"),
			await KINDS.batch(gateway),
			await KINDS.batch(gateway),
			await KINDS.file(gateway),
			await KINDS.file(gateway),
		];
		for (const { path } of [stuck, ...others])
			await whileBroken(() => send("DELETE", path, { headers: ANTHROPIC }));
		logged.length = 0;
		await gateway.keepInAlarm(stuck.id);
		const now = Date.now();
		expect(await alarm()).toBe(true);
		expect(logged).toEqual(["storageUnavailable"]);
		for (const { id } of others) expect(await keys(id)).toEqual([]);
		expect(await keys(stuck.id)).toHaveLength(stuck.bytes);
		expect(await gateway.nextAlarm()).toBeGreaterThanOrEqual(now + 60_000);
		expect(await gateway.nextAlarm()).toBeLessThan(now + 100_000);
		// Before that time an alarm does not try it, and deletes others.
		const later = await KINDS.file(gateway);
		await whileBroken(() => send("DELETE", later.path));
		logged.length = 0;
		await alarm();
		expect(logged).toEqual([]);
		expect(await keys(later.id)).toEqual([]);
		await gateway.keepInAlarm("nothing");
		vi.spyOn(Date, "now").mockReturnValue(now + 100_000);
		expect(await alarm()).toBe(true);
		expect(await keys(stuck.id)).toEqual([]);
		expect(await gateway.nextAlarm()).toBeNull();
	},
);

it("files and batches that can never be deleted keep no later ones from being deleted", async () => {
	const gateway = gatewayWithAlarm();
	const { alarm, keys, logged, services } = gateway;
	const begin = (id: string) =>
		services.jobs.files(ACCOUNT, (files) =>
			files.begin(
				ACCOUNT,
				{ id, owner: "operator", createdAt: 0 },
				{ ...services.jobs.bounds, maxFiles: 1_000 },
			),
		);
	const part = `stuck-${crypto.randomUUID()}`;
	for (let count = 0; count < 110; count++) await begin(`${part}-${count}`);
	const batches = [];
	for (let count = 0; count < 21; count++)
		batches.push(await batchOf(gateway, "completed", `${part}-batch-${count}`));
	for (const { id } of batches) await services.jobs.batches(ACCOUNT, (stored) => stored.hide(id));
	let calls = 0;
	await gateway.keepInAlarm(part, () => calls++);
	await alarm();
	// One line for each kind, not for each row. All files by one call, and a group of each kind.
	expect(logged).toEqual(["storageUnavailable", "storageUnavailable"]);
	expect(calls).toBe(1 + 10 + 10);
	const last = `last-${crypto.randomUUID()}`;
	await begin(last);
	await services.storage.blobs(ACCOUNT).put(`files/${last}`, new Uint8Array(3));
	const lastBatch = await batchOf(gateway, "completed");
	await services.jobs.batches(ACCOUNT, (stored) => stored.hide(lastBatch.id));
	// A group of each alarm fails, and then waits.
	for (let count = 0; count < 11; count++) expect(await alarm()).toBe(true);
	expect(await keys(last)).toEqual([]);
	expect(await keys(lastBatch.id)).toEqual([]);
});

it("a failed deletion whose bytes a request has deleted meanwhile leaves no row and no alarm", async () => {
	const gateway = gatewayWithAlarm();
	const { alarm, send, services, whileBroken } = gateway;
	const { id, path } = await KINDS.file(gateway);
	await whileBroken(() => send("DELETE", path));
	await gateway.keepInAlarm(id, () => services.jobs.files(ACCOUNT, (files) => files.forget(id)));
	expect(await alarm()).toBe(true);
	expect(await gateway.nextAlarm()).toBeNull();
	expect(await gateway.erase()).toBeLessThanOrEqual(2);
});

it("a file of an adapter, or a file, that ends its upload after the account was deleted leaves nothing", async () => {
	const { erase, services } = gatewayWithAlarm();
	const file = { name: "adapter_config.json", key: "adapters/a/late", bytes: 3, rank: 8 } as const;
	expect(await services.jobs.adapters(ACCOUNT, (adapters) => adapters.setFile("a", file))).toMatchObject({
		reason: "missing",
	});
	const record = { purpose: "batch", filename: "a", contentType: "text/plain", bytes: 1, createdAt: 0 };
	const completed = services.jobs.files(ACCOUNT, (files) =>
		files.complete({ id: "file-a", owner: "operator", ...record }),
	);
	expect(await completed).toBe(false);
	expect(await erase()).toBe(0);
});

it("a deleted batch stays deleted when lines of its last run end", async () => {
	const gateway = gatewayWithAlarm();
	const { send, services, whileBroken } = gateway;
	const { jobs } = services;
	const { id, path, list } = await batchOf(gateway, "in_progress");
	const run = { batch: id, fence: 1 };
	await jobs.runs(ACCOUNT, async (runs) => {
		await runs.begin(run);
		await runs.giveUp(run, "The queue has given up");
	});
	await whileBroken(() => send("DELETE", path, { headers: ANTHROPIC }));
	const ticket = crypto.randomUUID();
	const ended = [
		{ line: 1, ticket, settlements: [], outcome: { kind: "again", startAt: 0, counts: true } },
	] as const;
	const room = { maxBytes: 1e9, isDiskFull: false };
	const late = { ended, delivered: [], claim: 0, room };
	expect(await jobs.runs(ACCOUNT, (runs) => runs.exchange(run, late))).toMatchObject({ isStopping: true });
	expect((await send("GET", path, { headers: ANTHROPIC })).status).toBe(404);
	expect(JSON.stringify(await send("GET", list, { headers: ANTHROPIC }))).not.toContain(id);
	await gateway.alarm();
	expect(await gateway.keys(id)).toEqual([]);
});
