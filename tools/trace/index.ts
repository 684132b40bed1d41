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
import { parse } from "jsonc-parser";
import { rolldown } from "rolldown";
import { modulesIn } from "../../miniflare/modules.ts";
import { freePort } from "../../scripts/free-port.ts";
import { readOptions } from "../../scripts/options.ts";
import { ROOT } from "../../scripts/root.ts";
import { serve } from "../../scripts/workerd.ts";
import { instrument } from "./instrument.ts";

const ADMIN_TOKEN = "the-admin-token-of-a-trace-on-loopback";
const WORKERS_AI_RUN = "a92d2450e05d4e7bb7d0a64968f83d11";
const ACCOUNT = "trace";
const CHAT_MODEL = "@cf/meta/llama-3.1-8b-instruct-fp8";
const EMBEDDING_MODEL = "@cf/baai/bge-base-en-v1.5";
const WARM_UP_REQUESTS = 5;
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
			...bindings(),
		},
		await freePort(),
		folder,
	);
	try {
		const token = await createToken(served.url);
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
	const bundle = await rolldown({
		cwd: root,
		input: { index: entry },
		platform: "browser",
		resolve: {
			conditionNames: ["workerd", "worker", "browser"],
			alias: {
				"decode-named-character-reference": join(root, "src/markdown/no-character-references.ts"),
				"@ungap/structured-clone": join(root, "src/markdown/structured-clone.ts"),
			},
		},
		transform: { target: "es2024", define: { "process.env.NODE_ENV": '"production"' } },
		external: [/^cloudflare:/, /^node:/],
		plugins: [instrument(join(root, "src"))],
		logLevel: "silent",
	});
	const built = join(folder, "built");
	await bundle.write({ dir: built, format: "esm", chunkFileNames: "[name]-[hash].part.js" });
	await bundle.close();
	return modulesIn(built);
}

/** The settings of the checkout that is counted. */
function bindings() {
	const settings = parse(readFileSync(join(root, "wrangler.jsonc"), "utf8"));
	return {
		compatibilityDate: settings.compatibility_date,
		compatibilityFlags: settings.compatibility_flags.filter((flag: string) => flag !== "enable_ctx_exports"),
		objects: settings.durable_objects.bindings,
	};
}

async function createToken(origin: string): Promise<string> {
	const response = await fetch(`${origin}/client/v4/accounts/${ACCOUNT}/tokens`, {
		method: "POST",
		headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
		body: JSON.stringify({
			name: "trace",
			policies: [
				{
					effect: "allow",
					resources: { [`com.cloudflare.api.account.${ACCOUNT}`]: "*" },
					permission_groups: [{ id: WORKERS_AI_RUN }],
				},
			],
		}),
	});
	const { result } = (await response.json()) as { result?: { value?: string } };
	if (!result?.value) throw new Error(`no token: HTTP ${response.status}`);
	return result.value;
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
				await wait(5);
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
