/**
 * Three real `llama-server` processes behind one pool, where `LLAMA_SERVER_COMMAND` starts one. The test adds the address, and
 * `--metrics`. Any model with a chat template and a context of 4,096 tokens for each of 8 slots does; its answers are not read.
 *
 *     LLAMA_SERVER_COMMAND="llama-server -m MODEL.gguf --jinja -np 8 -c 65536" npx vitest run --project node test/node/llama-pool
 *
 * It prints what it measured.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { freePort } from "../../scripts/free-port.ts";
import { Gateway } from "../../tools/soak/gateway.ts";

const COMMAND = process.env.LLAMA_SERVER_COMMAND;
const MODEL = "live/chat";
const SERVERS = 3;
const CONVERSATIONS = 12;
const TURNS = 10;
const TIMEOUT_MS = 120_000;

/** Requests of all tests, each of which is billed once. */
let billed = 0;

/** A `llama-server` that can be killed and started again at its address. */
class LlamaServer {
	readonly #port: number;
	#process: ChildProcess | undefined;

	constructor(port: number) {
		this.#port = port;
	}

	get origin(): string {
		return `http://127.0.0.1:${this.#port}`;
	}

	async start(): Promise<void> {
		const [program = "", ...options] = (COMMAND ?? "").split(" ");
		const address = ["--host", "127.0.0.1", "--port", String(this.#port), "--metrics"];
		this.#process = spawn(program, [...options, ...address], { stdio: "ignore" });
		await vi.waitFor(
			async () => {
				const { ok } = await fetch(`${this.origin}/health`);
				if (!ok) throw new Error("The server loads its model");
			},
			{ timeout: 30_000 },
		);
	}

	async kill(): Promise<void> {
		const ended = this.#process && once(this.#process, "exit");
		this.#process?.kill("SIGKILL");
		await ended;
		this.#process = undefined;
	}

	/** Prompt tokens that the process has computed. */
	async computedTokens(): Promise<number> {
		const metrics = await (await fetch(`${this.origin}/metrics`)).text();
		return Number(/^llamacpp:prompt_tokens_total (\S+)$/m.exec(metrics)?.[1]);
	}
}

interface ListedReplica {
	url: string;
	circuit: string;
	engine: { running: number; waiting: number } | null;
}

describe.skipIf(!COMMAND)("three llama-servers behind a pool (needs LLAMA_SERVER_COMMAND)", () => {
	let servers: LlamaServer[];
	let gateway: Gateway;
	let folder: string;
	let client: OpenAI;

	beforeAll(async () => {
		folder = mkdtempSync(join(tmpdir(), "ganglion-llama-pool-"));
		servers = [];
		for (let i = 0; i < SERVERS; i++) servers.push(new LlamaServer(await freePort()));
		await Promise.all(servers.map((server) => server.start()));
		gateway = await Gateway.start(join(folder, "gateway"), {
			BACKENDS: {
				llama: {
					kind: "openai",
					pool: { replicas: servers.map(({ origin }) => `${origin}/v1`), poll_ms: 500 },
				},
			},
			ROUTES: { [MODEL]: [{ backend: "llama" }] },
			MODELS: {
				[MODEL]: {
					task: "Text Generation",
					prices: [
						{ unit: "per M input tokens", neurons: 1_000_000 },
						{ unit: "per M output tokens", neurons: 1_000_000 },
					],
				},
			},
			LIMITS: { requests_per_minute: "none" },
		});
		client = new OpenAI({
			baseURL: `${gateway.url}/client/v4/accounts/live/ai/v1`,
			apiKey: Gateway.operator.replace("Bearer ", ""),
			maxRetries: 0,
		});
	}, TIMEOUT_MS);

	afterAll(async () => {
		await gateway?.stop();
		await Promise.all((servers ?? []).map((server) => server.kill()));
		rmSync(folder, { recursive: true, force: true });
	});

	/** Sends one request, streamed if its number is even, and returns the answer and its usage. */
	async function chat(messages: OpenAI.ChatCompletionMessageParam[], number: number) {
		billed++;
		const body = { model: MODEL, messages, max_tokens: 16, temperature: 0 };
		if (number % 2 === 1) {
			const { choices, usage } = await client.chat.completions.create(body);
			return { text: choices[0]?.message.content ?? "", usage };
		}
		let text = "";
		let usage: OpenAI.CompletionUsage | null | undefined;
		const stream = await client.chat.completions.create({
			...body,
			stream: true,
			stream_options: { include_usage: true },
		});
		for await (const chunk of stream) {
			text += chunk.choices[0]?.delta.content ?? "";
			usage = chunk.usage ?? usage;
		}
		return { text, usage };
	}

	const question = (conversation: number, turn: number): string =>
		`Question ${turn} of conversation ${conversation}: ${`item ${conversation * 31 + turn}, `.repeat(12)}what is next?`;

	async function replicas(): Promise<ListedReplica[]> {
		const response = await fetch(`${gateway.url}/client/v4/pools/llama`, {
			headers: { authorization: Gateway.operator },
		});
		return ((await response.json()) as { result: { replicas: ListedReplica[] } }).result.replicas;
	}

	it("keeps conversations of ten turns where their prompts are cached", { timeout: TIMEOUT_MS }, async () => {
		let [reachable, cached] = [0, 0];
		await Promise.all(
			Array.from({ length: CONVERSATIONS }, async (_, conversation) => {
				const messages: OpenAI.ChatCompletionMessageParam[] = [
					{ role: "system", content: "You are a helpful clerk. Answer briefly." },
				];
				let previous = 0;
				for (let turn = 0; turn < TURNS; turn++) {
					messages.push({ role: "user", content: question(conversation, turn) });
					const { text, usage } = await chat(messages, conversation + turn);
					// The prompt begins with that of the previous turn, which the server has computed.
					reachable += previous;
					cached += Math.min(previous, usage?.prompt_tokens_details?.cached_tokens ?? 0);
					previous = usage?.prompt_tokens ?? 0;
					messages.push({ role: "assistant", content: text });
				}
			}),
		);
		const computed = await Promise.all(servers.map((server) => server.computedTokens()));
		console.log(
			`${CONVERSATIONS} conversations of ${TURNS} turns: ${cached} of ${reachable} reachable tokens were cached ` +
				`(${((100 * cached) / reachable).toFixed(1)} %); each server computed ${computed.join(", ")} prompt tokens`,
		);
		expect(cached / reachable).toBeGreaterThanOrEqual(0.9);
		// Every server has a part of the conversations.
		for (const tokens of computed) expect(tokens).toBeGreaterThan(0);
	});

	it("reads the loads of the servers", { timeout: TIMEOUT_MS }, async () => {
		await expect
			.poll(
				async () => {
					// A request starts the polls. A report is used for two intervals.
					await chat([{ role: "user", content: "Hello" }], 1);
					return (await replicas()).map(({ engine }) => typeof engine?.running);
				},
				{ timeout: 30_000, interval: 100 },
			)
			.toEqual(servers.map(() => "number"));
	});

	it("answers while a server is dead, and uses it again when it is back", {
		timeout: TIMEOUT_MS,
	}, async () => {
		const [victim] = servers;
		if (!victim) throw new Error("no server");
		let sent = 0;
		const burst = () =>
			Promise.all(
				Array.from({ length: CONVERSATIONS }, () => {
					const number = sent++;
					return chat([{ role: "user", content: question(1_000 + number, 0) }], number);
				}),
			);
		const circuit = async (): Promise<string | undefined> =>
			(await replicas()).find(({ url }) => url.startsWith(victim.origin))?.circuit;

		const [answers] = await Promise.all([burst(), victim.kill()]);
		for (const { usage } of answers) expect(usage?.prompt_tokens).toBeGreaterThan(0);
		await expect
			.poll(
				async () => {
					await burst();
					return circuit();
				},
				{ timeout: 30_000 },
			)
			.toBe("open");
		const whileDead = sent;

		await victim.start();
		const startedAt = performance.now();
		await expect
			.poll(
				async () => {
					await burst();
					return { circuit: await circuit(), works: (await victim.computedTokens()) > 0 };
				},
				{ timeout: 60_000, interval: 200 },
			)
			.toEqual({ circuit: "closed", works: true });
		console.log(
			`${whileDead} requests while the server was killed and dead, ${sent} in all: each was answered. ` +
				`The circuit was closed ${((performance.now() - startedAt) / 1_000).toFixed(1)} s after the start`,
		);
		await expect
			.poll(() => gateway.totals("live"), { timeout: 10_000 })
			.toMatchObject({
				requests: billed,
				failed: 0,
			});
	});
});
