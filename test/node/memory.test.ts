/**
 * The memory of the built Worker after hostile requests: each has texts of its own at all places that the gateway reads. V8's heap
 * after a garbage collection shows what is kept of them.
 */
import { once } from "node:events";
import { createWriteStream, mkdtempSync, rmSync } from "node:fs";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { modulesIn } from "../../miniflare/modules.ts";
import { freePort } from "../../scripts/free-port.ts";
import { runtimeSettings } from "../../scripts/settings.ts";
import { type Served, serve } from "../../scripts/workerd.ts";
import { connectInspector, type Inspector } from "../../tools/bench/inspector.ts";

const ADMIN_TOKEN = "an-admin-token-of-the-memory-test";
const MODEL = "@cf/moonshotai/kimi-k2.6";
/** Each round has this many requests of each kind. */
const REQUESTS = 30;
const TEXT_BYTES = 30_000;
/** If one kind of request were kept, the heap would grow by 900 KB in a round. */
const MAX_GROWTH_BYTES = 500_000;
const INSPECTOR_MS = 60_000;
/** On a busy machine, for what is sent in batches. */
const BATCHES_MS = 15_000;
const AI = "/client/v4/accounts/acme/ai";
const CHAT = `${AI}/v1/chat/completions`;

const folder = mkdtempSync(join(tmpdir(), "ganglion-memory-"));
const answer = JSON.stringify({
	choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
	usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});
const engine = createServer((call, response) => {
	call.resume();
	response.writeHead(200, { "content-type": "application/json" }).end(answer);
});
const agent = new Agent({ keepAlive: true, maxSockets: 8 });
let port: number;
let served: Served;
let inspector: Inspector;

beforeAll(async () => {
	await once(engine.listen(0, "127.0.0.1"), "listening");
	const url = `http://127.0.0.1:${(engine.address() as AddressInfo).port}/v1`;
	const log = createWriteStream(join(folder, "workerd.log"));
	await once(log, "open");
	port = await freePort();
	const inspectorPort = await freePort();
	served = await serve(
		{
			name: "ganglion",
			modules: modulesIn("dist/worker"),
			...runtimeSettings(),
			vars: {
				ADMIN_TOKEN,
				BACKENDS: { engine: { kind: "openai", url } },
				ROUTES: { "*": [{ backend: "engine", model: "m" }] },
				LIMITS: { requests_per_minute: "none" },
			},
			inspectorPort,
			log,
		},
		port,
		folder,
	);
	// On a busy machine the inspector may listen later than the Worker.
	inspector = await vi.waitFor(() => connectInspector(inspectorPort), { timeout: INSPECTOR_MS });
});
afterAll(async () => {
	inspector?.close();
	await served?.stop();
	agent.destroy();
	engine.closeAllConnections();
	engine.close();
	rmSync(folder, { recursive: true, force: true });
});

interface Sent {
	path?: string;
	token?: string;
	headers?: Record<string, string>;
	body?: unknown;
}

function send({ path = CHAT, token = ADMIN_TOKEN, headers = {}, body }: Sent): Promise<number> {
	return new Promise((resolve, reject) => {
		const outgoing = request(
			{
				port,
				path,
				agent,
				method: "POST",
				headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
			},
			(incoming) => incoming.resume().on("end", () => resolve(incoming.statusCode ?? 0)),
		);
		outgoing.on("error", reject).end(typeof body === "string" ? body : JSON.stringify(body));
	});
}

const messages = [{ role: "user", content: "Hi" }];
const schemaOf = (text: string) => ({ type: "object", properties: { [text]: { type: "string" } } });
const toolOf = (text: string) => ({
	type: "function",
	function: { name: "f", description: text, parameters: schemaOf(text) },
});

/** Requests with a text that no other request has. */
const KINDS: Record<string, (text: string) => Sent> = {
	"a token": (text) => ({ token: `glt_acme_${text}`, body: { model: MODEL, messages } }),
	"an account": (text) => ({
		path: `/client/v4/accounts/${text.slice(0, 60)}/ai/v1/chat/completions`,
		token: `glt_${text.slice(0, 60)}_${text.slice(0, 43)}`,
		body: { model: MODEL, messages },
	}),
	"a path": (text) => ({ path: `${AI}/${text}`, body: {} }),
	"a session": (text) => ({
		headers: { "x-session-affinity": text },
		body: { model: MODEL, messages, prompt_cache_key: text, user: text },
	}),
	"a prompt": (text) => ({ body: { model: MODEL, messages: [{ role: "user", content: text }] } }),
	"a tool": (text) => ({ body: { model: MODEL, messages, tools: [toolOf(text)] } }),
	"a schema": (text) => ({
		body: {
			model: MODEL,
			messages,
			response_format: { type: "json_schema", json_schema: { name: "a", schema: schemaOf(text) } },
		},
	}),
	"a tool of Messages": (text) => ({
		path: `${AI}/v1/messages`,
		body: {
			model: MODEL,
			max_tokens: 5,
			messages,
			metadata: { user_id: text },
			tools: [{ name: "t", description: text, input_schema: schemaOf(text) }],
		},
	}),
	"a gateway": (text) => ({
		path: "/v1/acme/default/compat/chat/completions",
		headers: { "cf-aig-cache-key": text, "cf-aig-metadata": JSON.stringify({ text }) },
		body: { model: `workers-ai/${MODEL}`, messages },
	}),
	"an origin": (text) => ({
		headers: { origin: `https://${text}.example` },
		body: { model: MODEL, messages },
	}),
	"JSON that ends early": (text) => ({ body: `{"model":"${text}` }),
};

let sent = 0;
async function round(): Promise<Map<string, number>> {
	const statuses = new Map<string, number>();
	for (let i = 0; i < REQUESTS; i++)
		await Promise.all(
			Object.entries(KINDS).map(async ([name, kind]) => {
				const number = String(++sent);
				statuses.set(name, await send(kind(`n${number}-`.padEnd(TEXT_BYTES, `${number}x`))));
			}),
		);
	return statuses;
}

async function heapBytes(): Promise<number> {
	await inspector.send("HeapProfiler.collectGarbage");
	const { usedSize } = (await inspector.send("Runtime.getHeapUsage")) as { usedSize: number };
	return usedSize;
}

it("does not grow with the texts of requests", async () => {
	// Compiles the code, and fills the caches.
	expect(Object.fromEntries(await round())).toEqual({
		"a token": 401,
		"an account": 401,
		"a path": 400,
		"a session": 200,
		"a prompt": 200,
		"a tool": 200,
		"a schema": 200,
		"a tool of Messages": 200,
		"a gateway": 200,
		"an origin": 200,
		"JSON that ends early": 400,
	});
	const before = await heapBytes();
	await round();
	await round();
	// Settlements and logs of the last requests may wait for their batch.
	await expect
		.poll(async () => (await heapBytes()) - before, { timeout: BATCHES_MS })
		.toBeLessThan(2 * MAX_GROWTH_BYTES);
});
