/**
 * Counts the files and functions of `src/` that one request enters, on a private, instrumented build:
 *
 *     node tools/trace/index.ts [--project DIR] [--list]
 *
 * `--project` counts another checkout, with its installed packages. `--list` prints the functions. Each request is sent a few times
 * before it is counted: lazy modules are loaded then, and caches are filled.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { modulesIn } from "../../miniflare/modules.ts";
import { freePort } from "../../scripts/free-port.ts";
import { readOptions } from "../../scripts/options.ts";
import { ROOT } from "../../scripts/root.ts";
import { projectSettings, runtimeSettings } from "../../scripts/settings.ts";
import { bundleWorker } from "../../scripts/worker.ts";
import { serve } from "../../scripts/workerd.ts";
import { ADMIN_TOKEN, createToken } from "../bench/token.ts";
import { instrument } from "./instrument.ts";

const ACCOUNT = "trace";
const CHAT_MODEL = "@cf/meta/llama-3.1-8b-instruct-fp8";
const EMBEDDING_MODEL = "@cf/baai/bge-base-en-v1.5";
const WARM_UP_REQUESTS = 5;
/** Faster chunks may be read together (`coalescing-reader.ts`), which enters nine functions more in some runs. */
const CHUNK_PAUSE_MS = 15;
/** Settlements and logs follow an answer. */
const AFTER_ANSWER_MS = 1_500;

interface Trace {
	label: string;
	send(origin: string, token: string): Promise<Response>;
}

const TRACES: Trace[] = [
	{
		label: "a streamed chat",
		send: (origin, token) =>
			fetch(`${origin}/client/v4/accounts/${ACCOUNT}/ai/v1/chat/completions`, {
				method: "POST",
				headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
				body: JSON.stringify({
					model: CHAT_MODEL,
					messages: [{ role: "user", content: "Count from one to ten." }],
					stream: true,
				}),
			}),
	},
	{
		label: "a refused embedding over RPC",
		send: (origin) =>
			fetch(`${origin}/trace/rpc/${ACCOUNT}/${EMBEDDING_MODEL}`, {
				method: "POST",
				body: JSON.stringify({ text: 5 }),
			}),
	},
];

const { project = ROOT, list } = readOptions(
	{ project: { type: "string" }, list: { type: "boolean" } },
	`node tools/trace/index.ts [options]

  --project DIR  counts the checkout in this folder (this one)
  --list         prints the functions`,
);

const root = resolve(project);
mkdirSync(join(root, "dist"), { recursive: true });
const folder = mkdtempSync(join(root, "dist/.trace-"));
const engine = await startEngine();
try {
	const served = await serve(
		{
			name: "ganglion",
			modules: await build(),
			vars: {
				ADMIN_TOKEN,
				BACKENDS: { engine: { kind: "openai", url: engine.url } },
				ROUTES: { [CHAT_MODEL]: [{ backend: "engine", model: "engine" }] },
			},
			...runtimeSettings(projectSettings(join(root, "wrangler.jsonc"))),
		},
		await freePort(),
		folder,
	);
	try {
		const token = await createToken(served.url, ACCOUNT);
		for (const trace of TRACES) report(trace.label, await entered(trace, served.url, token));
	} finally {
		await served.stop();
	}
} finally {
	engine.close();
	rmSync(folder, { recursive: true, force: true });
}

async function build(): Promise<ReturnType<typeof modulesIn>> {
	const entry = join(folder, "entry.ts");
	const wrapper = readFileSync(join(import.meta.dirname, "worker.ts"), "utf8")
		.replaceAll("../../src/index.ts", join(root, "src/index.ts"))
		.replaceAll("./entered.ts", join(import.meta.dirname, "entered.ts"));
	writeFileSync(entry, wrapper);
	const built = join(folder, "built");
	await bundleWorker(built, { root, entry, minify: false, plugins: [instrument(join(root, "src"))] });
	return modulesIn(built);
}

/** The functions that the last of several requests enters, with what follows its answer. */
async function entered({ send }: Trace, origin: string, token: string): Promise<string[]> {
	const functions = async () => {
		await wait(AFTER_ANSWER_MS);
		return (await (await fetch(`${origin}/trace/entered`)).json()) as string[];
	};
	for (let i = 0; i < WARM_UP_REQUESTS; i++) await (await send(origin, token)).text();
	await functions();
	const idle = await functions();
	const response = await send(origin, token);
	const text = await response.text();
	console.log(`  HTTP ${response.status} ${text.slice(0, 80).replaceAll("\n", " ")}`);
	const timers = new Set(idle);
	return (await functions()).filter((name) => !timers.has(name));
}

function report(label: string, functions: readonly string[]): void {
	const files = new Set(functions.map((name) => name.split(":")[0]));
	console.log(`${label}: ${files.size} files, ${functions.length} functions`);
	if (list) for (const name of [...functions].sort()) console.log(`    ${name}`);
}

/** An engine of OpenAI's API that streams ten words and reports its usage. */
async function startEngine(): Promise<{ url: string; close(): void }> {
	const chunk = (choices: unknown[], others: object = {}): string =>
		`data: ${JSON.stringify({ id: "chatcmpl-trace", object: "chat.completion.chunk", created: 1, model: "engine", choices, ...others })}\n\n`;
	const server = createServer((request, response) => {
		request.resume();
		request.once("end", async () => {
			response.writeHead(200, { "content-type": "text/event-stream" });
			for (const content of "one two three four five six seven eight nine ten".split(" ")) {
				response.write(chunk([{ index: 0, delta: { content }, finish_reason: null }]));
				await wait(CHUNK_PAUSE_MS);
			}
			response.write(chunk([{ index: 0, delta: {}, finish_reason: "stop" }]));
			response.write(chunk([], { usage: { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 } }));
			response.end("data: [DONE]\n\n");
		});
	}).listen(0, "127.0.0.1");
	await new Promise((listening) => server.once("listening", listening));
	const { port } = server.address() as AddressInfo;
	return {
		url: `http://127.0.0.1:${port}/v1`,
		close: () => {
			server.closeAllConnections();
			server.close();
		},
	};
}
