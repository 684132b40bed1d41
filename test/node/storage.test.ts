/** Stored objects and durable work in plain workerd, which is killed and restarted with its state. */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { backupCommand } from "../../cli/commands/backup.ts";
import { Gateway } from "../../tools/soak/gateway.ts";

const gateways: Gateway[] = [];
const folders: string[] = [];
afterEach(async () => {
	await Promise.all(gateways.splice(0).map((gateway) => gateway.stop()));
	for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-storage-"));
	folders.push(folder);
	return folder;
}

/** https://platform.openai.com/docs/api-reference/chat/object */
const COMPLETION = JSON.stringify({
	id: "chatcmpl-1",
	object: "chat.completion",
	created: 1_790_000_000,
	model: "llama-3.3-70b-instruct",
	choices: [{ index: 0, message: { role: "assistant", content: "The ship leaves." }, finish_reason: "stop" }],
	usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 },
});

async function start(
	folder = newFolder(),
	variables: Record<string, unknown> = { DEFAULT_BACKEND: "simulator" },
): Promise<Gateway> {
	const gateway = await Gateway.start(folder, variables, { wrapper: "storage-worker.ts" });
	gateways.push(gateway);
	return gateway;
}

interface WorkState {
	results: number;
	fences: number;
	items: { key: string; state: string; interruptions: number }[];
}
interface ObjectState {
	blobs: { key: string; bytes: number }[];
	usage: { objects: number; bytes: number }[];
	pieces: number;
}
const stateOf = async <T>(gateway: Gateway, path: string): Promise<T> =>
	(await (await fetch(`${gateway.url}${path}`)).json()) as T;
const work = (gateway: Gateway) => stateOf<WorkState>(gateway, "/soak/work");
const objects = (gateway: Gateway) => stateOf<ObjectState>(gateway, "/soak/objects");
const enqueue = (gateway: Gateway, query: string) =>
	fetch(`${gateway.url}/soak/work?${query}`, { method: "POST" }).then((response) => response.json());

describe("durable work", () => {
	it("completes every item once although the process is killed again and again", async () => {
		const gateway = await start();
		expect(await enqueue(gateway, "items=400")).toBe(400);
		let done = 0;
		for (let kills = 0; kills < 4; kills++) {
			const before = done;
			await expect
				.poll(async () => (await work(gateway)).results, { interval: 5 })
				.toBeGreaterThan(before + 20);
			await gateway.kill();
			done = (await work(gateway)).results;
		}
		await expect.poll(() => work(gateway)).toEqual({ results: 400, fences: 400, items: [] });
	});

	it("runs models beside callers, with whom items share answers, tokens and leases", async () => {
		const engine = createServer((request, response) => {
			request.resume().on("end", async () => {
				await wait(100);
				response.setHeader("content-type", "application/json").end(COMPLETION);
			});
		});
		engine.listen(0, "127.0.0.1");
		await once(engine, "listening");
		const { port } = engine.address() as AddressInfo;
		const gateway = await start(newFolder(), {
			BACKENDS: { vllm: { kind: "openai", url: `http://127.0.0.1:${port}/v1` } },
			DEFAULT_BACKEND: "vllm",
		});
		let calls = 0;
		engine.on("request", () => calls++);
		const token = await gateway.createToken("acme");
		await enqueue(gateway, `items=40&kind=soak.run&token=${encodeURIComponent(token)}`);
		const callers = Array.from({ length: 40 }, (_, index) =>
			fetch(`${gateway.url}/client/v4/accounts/acme/ai/run/@cf/meta/llama-3.3-70b-instruct-fp8-fast`, {
				method: "POST",
				headers: { authorization: token, "x-ganglion-single-flight": "1" },
				body: JSON.stringify({ prompt: `Summarize chapter ${Math.floor(index / 4)}` }),
			}),
		);
		for (const response of await Promise.all(callers)) expect(response.status).toBe(200);
		await expect.poll(() => work(gateway)).toEqual({ results: 40, fences: 40, items: [] });
		expect(await gateway.totals("acme")).toMatchObject({ requests: 80, failed: 0 });
		expect(calls).toBeLessThan(80);
		expect(gateway.output()).toBe("");
		engine.close();
	});

	it("starts items after a restart without a request that wakes the queue", async () => {
		const gateway = await start();
		await enqueue(gateway, "items=3&delay=1500");
		await gateway.kill();
		// This route does not call the queue's object.
		await expect.poll(async () => (await fetch(`${gateway.url}/health`)).status, { interval: 500 }).toBe(200);
		await expect.poll(async () => (await work(gateway)).results).toBe(3);
	});
});

describe("stored objects", () => {
	it("streams 200 MB into the object and back", async () => {
		const gateway = await start();
		const chunk = randomBytes(1_000_003);
		const hash = createHash("sha256");
		async function* chunks() {
			for (let count = 0; count < 200; count++) {
				hash.update(chunk);
				yield chunk;
			}
		}
		const url = `${gateway.url}/soak/object?key=files%2F1`;
		const init = {
			method: "PUT",
			body: Readable.toWeb(Readable.from(chunks())) as unknown as BodyInit,
			duplex: "half",
		} as RequestInit;
		expect(await (await fetch(url, init)).json()).toMatchObject({ key: "files/1", bytes: 200_000_600 });
		const returned = createHash("sha256");
		for await (const part of (await fetch(url)).body ?? []) returned.update(part);
		expect(returned.digest("hex")).toBe(hash.digest("hex"));
	});

	it("has the old object, and neither bytes nor counts of the new one, after a kill in the middle of a put", async () => {
		const gateway = await start();
		const url = `${gateway.url}/soak/object?key=files%2F1`;
		await fetch(url, { method: "PUT", body: "old" });
		const put = send(url, { method: "PUT" });
		put.on("error", () => {});
		put.write(Buffer.alloc(5 * 1024 * 1024, 7));
		await expect.poll(async () => (await objects(gateway)).pieces).toBeGreaterThan(3);
		await gateway.kill();
		put.destroy();
		expect(await (await fetch(url)).text()).toBe("old");
		await expect.poll(() => objects(gateway)).toMatchObject({ usage: [{ objects: 1, bytes: 3 }], pieces: 1 });
		expect((await objects(gateway)).blobs).toMatchObject([{ key: "files/1", bytes: 3 }]);
	});

	it("are in a backup, with the queue, whose items run after its restoration", async () => {
		const folder = newFolder();
		const gateway = await start(folder);
		const bytes = randomBytes(3_000_000);
		await fetch(`${gateway.url}/soak/object?key=files%2F1`, { method: "PUT", body: bytes });
		await enqueue(gateway, "items=2&delay=4000");
		const state = newFolder();
		symlinkSync(join(folder, "state"), join(state, "objects"));
		const copy = join(newFolder(), "copy");
		expect(await backupCommand({ state, to: copy })).toBe(0);
		await gateway.stop();
		const restored = newFolder();
		cpSync(join(copy, "objects"), join(restored, "state"), { recursive: true });
		const second = await start(restored);
		const read = await fetch(`${second.url}/soak/object?key=files%2F1`);
		expect(Buffer.from(await read.arrayBuffer()).equals(bytes)).toBe(true);
		await expect.poll(async () => (await work(second)).results).toBe(2);
	});
});
