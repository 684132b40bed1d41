/**
 * Counts the files and functions of `src/` that one request enters, on a private, instrumented build:
 *
 *     node tools/trace/index.ts [--project DIR] [--list]
 *
 * `--project` counts another checkout, with its installed packages. `--list` prints the functions in the order of their first calls, with the
 * number of calls. Each request is sent a few times before it is counted: lazy modules are loaded then, and caches are filled.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
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
const MANY_REQUESTS = { daily_neurons: 1e9, requests_per_minute: { "Text Generation": 1_000_000 } };
/** Faster chunks may be read together (`coalescing-reader.ts`), which enters nine functions more in some runs. */
const CHUNK_PAUSE_MS = 15;
/** Settlements and logs follow an answer. */
const AFTER_ANSWER_MS = 1_500;

type Calls = [name: string, calls: number][];

interface Trace {
	label: string;
	ledger?: "exact";
	/**
	 * Counts so many requests, one after the other, and only the functions that each of them enters. Several share a lease, a batch of
	 * settlements, and what is read once a second. Absent: one request, with what follows it.
	 */
	requests?: number;
	send(origin: string, token: string): Promise<Response>;
}

const chat =
	(stream: boolean): Trace["send"] =>
	(origin, token) =>
		fetch(`${origin}/client/v4/accounts/${ACCOUNT}/ai/v1/chat/completions`, {
			method: "POST",
			headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
			body: JSON.stringify({
				model: CHAT_MODEL,
				messages: [{ role: "user", content: "Count from one to ten." }],
				stream,
			}),
		});

const TRACES: Trace[] = [
	{ label: "a streamed chat", send: chat(true) },
	{ label: "each of many chats without a stream", send: chat(false), requests: 100 },
	{ label: "the same with `LEDGER` exact", send: chat(false), requests: 100, ledger: "exact" },
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
  --list         prints the functions, in the order of their first calls, and how often each is called`,
);

const root = resolve(project);
mkdirSync(join(root, "dist"), { recursive: true });
const folder = mkdtempSync(join(root, "dist/.trace-"));
const engine = await startEngine();
try {
	const modules = await build();
	for (const trace of TRACES) report(trace.label, await traced(trace, modules));
} finally {
	engine.close();
	rmSync(folder, { recursive: true, force: true });
}

async function traced(trace: Trace, modules: ReturnType<typeof modulesIn>): Promise<Calls> {
	const served = await serve(
		{
			name: "ganglion",
			modules,
			vars: {
				ADMIN_TOKEN,
				BACKENDS: { engine: { kind: "openai", url: engine.url } },
				ROUTES: { [CHAT_MODEL]: [{ backend: "engine", model: "engine" }] },
				...(trace.requests && { LIMITS: MANY_REQUESTS }),
				...(trace.ledger && { LEDGER: trace.ledger }),
			},
			...runtimeSettings(projectSettings(join(root, "wrangler.jsonc"))),
		},
		await freePort(),
		mkdtempSync(join(folder, "gateway-")),
	);
	try {
		return await entered(trace, served.url, await createToken(served.url, ACCOUNT));
	} finally {
		await served.stop();
	}
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

/** The functions that the last of several requests enters, with what follows its answer, or that each of several enters. */
async function entered({ send, requests = 1 }: Trace, origin: string, token: string): Promise<Calls> {
	const functions = async () => {
		await wait(AFTER_ANSWER_MS);
		return (await (await fetch(`${origin}/trace/entered`)).json()) as Calls;
	};
	const answers = async (count: number) => {
		let answer = "";
		for (let i = 0; i < count; i++) {
			const response = await send(origin, token);
			answer = `HTTP ${response.status} ${(await response.text()).slice(0, 80).replaceAll("\n", " ")}`;
		}
		return answer;
	};
	await answers(WARM_UP_REQUESTS * requests);
	await functions();
	const timers = new Set((await functions()).map(([name]) => name));
	console.log(`  ${await answers(requests)}`);
	return (await functions())
		.filter(([name, calls]) => !timers.has(name) && calls >= requests)
		.map(([name, calls]) => [name, Math.round(calls / requests)]);
}

function report(label: string, functions: Calls): void {
	const files = new Set(functions.map(([name]) => name.split(":")[0]));
	const calls = functions.reduce((sum, [, each]) => sum + each, 0);
	console.log(`${label}: ${files.size} files, ${functions.length} functions, ${calls} calls`);
	if (list) for (const [name, each] of functions) console.log(`${String(each).padStart(5)} ${name}`);
}

/** An engine of OpenAI's API that answers with ten words, as a stream if the request asks for one, and reports its usage. */
async function startEngine(): Promise<{ url: string; close(): void }> {
	const chunk = (choices: unknown[], others: object = {}): string =>
		`data: ${JSON.stringify({ id: "chatcmpl-trace", object: "chat.completion.chunk", created: 1, model: "engine", choices, ...others })}\n\n`;
	const usage = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 };
	const words = "one two three four five six seven eight nine ten".split(" ");
	const server = createServer(async (request, response) => {
		if (!(await text(request)).includes('"stream":true')) {
			const message = { role: "assistant", content: words.join(" ") };
			const answer = JSON.stringify({
				id: "chatcmpl-trace",
				object: "chat.completion",
				created: 1,
				model: "engine",
				choices: [{ index: 0, message, finish_reason: "stop" }],
				usage,
			});
			// As engines do. A reply without its length is read in pieces.
			response.writeHead(200, {
				"content-type": "application/json",
				"content-length": Buffer.byteLength(answer),
			});
			return void response.end(answer);
		}
		response.writeHead(200, { "content-type": "text/event-stream" });
		for (const content of words) {
			response.write(chunk([{ index: 0, delta: { content }, finish_reason: null }]));
			await wait(CHUNK_PAUSE_MS);
		}
		response.write(chunk([{ index: 0, delta: {}, finish_reason: "stop" }]));
		response.write(chunk([], { usage }));
		response.end("data: [DONE]\n\n");
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
