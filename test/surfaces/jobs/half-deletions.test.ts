/** A deletion that fails after it has begun: nothing finds the object any more, and the alarm of the account deletes the rest. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
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

/** A gateway whose account's object is known. Its storage is shared, as the object itself calls it. */
function gatewayWithAlarm() {
	const gateway = testGateway();
	const { services } = gateway;
	const { storage } = servicesOf(configure({}), createPersistent(env, configure({})));
	const namespace = env.JOB_STORE as DurableObjectNamespace<JobStoreObject>;
	const name = crypto.randomUUID();
	let isBroken = false;
	const logged: unknown[] = [];
	services.uuid = () => crypto.randomUUID();
	services.jobs = new Jobs({ object: () => jobCalls(namespace, name), bounds: services.jobs.bounds });
	services.log = (error) => void logged.push(error.key);
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
		...{ form, logged, send, services },
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
	};
}

type GatewayWithAlarm = ReturnType<typeof gatewayWithAlarm>;

/** Each makes one object, and returns its id and the paths that delete and list it. */
const KINDS = {
	async adapter({ form, send }: GatewayWithAlarm) {
		const init = { body: JSON.stringify({ model: MODEL, name: "support" }) };
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
	async batch({ services }: GatewayWithAlarm) {
		const id = `msgbatch_${crypto.randomUUID()}`;
		const record: BatchRecord = {
			...{ id, owner: "operator", api: "anthropic", endpoint: "/messages", inputKey: `batches/${id}` },
			...{ status: "completed", outputFile: id, createdAt: Date.now(), expiresAt: Date.now() },
			...{ total: 1, succeeded: 1, failed: 0, unfinished: 0, mistakes: [], usage: NO_USAGE },
		};
		const request = { caller: { account: ACCOUNT, credential: { kind: "operator" as const } }, headers: [] };
		await services.jobs.batches(ACCOUNT, (batches) =>
			batches.create(record, { request }, services.jobs.bounds),
		);
		const blobs = services.storage.blobs(ACCOUNT);
		for (const key of [`batches/${id}`, `files/${id}`]) await blobs.put(key, new Uint8Array(3));
		return { id, path: `/v1/messages/batches/${id}`, list: "/v1/messages/batches", bytes: 2 };
	},
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
