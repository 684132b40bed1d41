/** A gateway with `--engine local`, as a user starts it, and its processes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { hasEnded } from "../../scripts/child.ts";
import { freePort } from "../../scripts/free-port.ts";
import { writeManifest } from "../../scripts/local-engine/store.ts";
import { findWeights } from "../../scripts/local-engine/table.ts";

const CLI = resolve("dist/cli/index.js");
const REVISION = "0123456789abcdef0123456789abcdef01234567";
const PATIENCE_MS = 60_000;
const POLL_MS = 10;
/** With one for each core, the threads of llama-server wait for each other in a loop, and take the cores that the gateway needs. */
const THREADS = "1";
const NEVER_USED = "0".repeat(64);

export const MODELS = [
	"@cf/meta/llama-3.2-1b-instruct",
	"@cf/meta/llama-3.2-3b-instruct",
	"@cf/ibm-granite/granite-4.0-h-micro",
	"@cf/openai/gpt-oss-20b",
] as const;

/** A folder with the file under the names of models. */
export function newFolder(chat: string, models: readonly string[] = MODELS): string {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-tool-"));
	for (const model of models) {
		const weights = findWeights(model, Date.now());
		if (!weights) throw new Error(`no weights: ${model}`);
		const { repository, files } = weights;
		const size = statSync(chat).size;
		writeManifest(join(folder, "models"), {
			...{ repository, revision: REVISION },
			files: files.map(({ name }) => ({ name, size, sha256: NEVER_USED })),
		});
		for (const { name } of files) {
			const path = join(folder, "models", repository, REVISION, name);
			mkdirSync(dirname(path), { recursive: true });
			copyFileSync(chat, path);
		}
	}
	return folder;
}

export interface Gateway {
	pid: number;
	port: number;
	/** All that it has printed. */
	output(): string;
	kill(signal: NodeJS.Signals): Promise<void>;
}

export async function startGateway(folder: string, env: Record<string, string> = {}): Promise<Gateway> {
	const port = await freePort();
	const child = spawn(
		process.execPath,
		[CLI, "dev", "--engine", "local", "--port", String(port), "--state", join(folder, "state")],
		{
			env: { ...process.env, GANGLION_MODELS: join(folder, "models"), LLAMA_ARG_THREADS: THREADS, ...env },
			stdio: ["ignore", "pipe", "pipe"],
		},
	);
	let output = "";
	for (const stream of [child.stdout, child.stderr])
		stream.on("data", (piece) => {
			output += piece;
		});
	return {
		...{ pid: child.pid ?? 0, port, output: () => output },
		async kill(signal) {
			if (hasEnded(child)) return;
			child.kill(signal);
			await once(child, "exit");
		},
	};
}

/** Waits until the value is true. `false`: it did not become true. */
export async function becomes(
	isTrue: () => boolean | Promise<boolean>,
	patienceMs = PATIENCE_MS,
): Promise<boolean> {
	const until = performance.now() + patienceMs;
	while (performance.now() < until) {
		if (await isTrue()) return true;
		await wait(POLL_MS);
	}
	return false;
}

export interface Chat {
	status: number;
	/** Milliseconds until the first byte of the body. */
	firstMs: number;
	ms: number;
	text: string;
}

interface ChatOptions {
	model: string;
	path: string;
	key?: string;
	agent?: Agent;
	text?: string;
	tokens?: number;
	stream?: boolean;
}

/** `status` 0: no answer. */
export function chat(
	port: number,
	{ model, path, key, agent, text: content = "hi", tokens = 1, stream = false }: ChatOptions,
): Promise<Chat> {
	const body = JSON.stringify({
		...{ model, max_tokens: tokens, stream, temperature: 0 },
		messages: [{ role: "user", content }],
	});
	const began = performance.now();
	return new Promise((done) => {
		const call = request(
			{
				...{ host: "127.0.0.1", port, path, method: "POST", ...(agent && { agent }) },
				headers: {
					"content-type": "application/json",
					"content-length": Buffer.byteLength(body),
					...(key !== undefined && { authorization: `Bearer ${key}` }),
				},
			},
			(response) => {
				let text = "";
				let firstMs = 0;
				response.on("data", (piece) => {
					firstMs ||= performance.now() - began;
					text += piece;
				});
				const end = (status: number) => done({ status, firstMs, text, ms: performance.now() - began });
				response.once("end", () => end(response.statusCode ?? 0));
				response.once("error", () => end(0));
			},
		);
		call.once("error", () => done({ status: 0, firstMs: 0, text: "", ms: performance.now() - began }));
		call.end(body);
	});
}

export const GATEWAY_PATH = "/client/v4/accounts/local/ai/v1/chat/completions";

export const oneConnection = (): Agent => new Agent({ keepAlive: true, maxSockets: 1 });

export interface Found {
	pid: number;
	args: string[];
	env: ReadonlyMap<string, string>;
}

/** Processes that were started with the folder of weights, or with a key of llama-server under it. */
export function processesOf(folder: string): Found[] {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
		.flatMap((name) => {
			try {
				const env = new Map(
					readFileSync(`/proc/${name}/environ`, "utf8")
						.split("\0")
						.map((line): [string, string] => {
							const at = line.indexOf("=");
							return [line.slice(0, at), line.slice(at + 1)];
						}),
				);
				if (env.get("GANGLION_MODELS") !== join(folder, "models")) return [];
				const args = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0").filter(Boolean);
				// One that has ended has no arguments.
				return args.length > 0 ? [{ pid: Number(name), args, env }] : [];
			} catch {
				return [];
			}
		});
}

const optionOf = ({ args }: Found, name: string): string | undefined => args[args.indexOf(name) + 1];

/** llama-server itself, or the process of one model. */
export const routerOf = (folder: string): Found | undefined =>
	processesOf(folder).find(({ args }) => args.includes("--models-preset"));

export const modelProcesses = (folder: string): Found[] =>
	processesOf(folder).filter(({ args }) => /llama/.test(args[0] ?? "") && !args.includes("--models-preset"));

/** The address of llama-server. */
export function addressOf(found: Found): { port: number; key: string } {
	return { port: Number(optionOf(found, "--port")), key: found.env.get("LLAMA_API_KEY") ?? "" };
}

export const remove = (folder: string): void =>
	rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
