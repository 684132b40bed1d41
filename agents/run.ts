/** One agent in one scenario: its folders, its own gateway, a scripted engine, and a recording proxy (tap) between agent and gateway. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { type Ended, environment, type Running, start } from "../clients/process.ts";
import { Gateway } from "../soak/gateway.ts";
import type { Client, Context } from "./client.ts";
import { type ChatBody, Engine, textOfMessage } from "./engine.ts";
import { type Fixture, fixtureOf } from "./fixtures.ts";
import { type Recorded, Tap } from "./tap.ts";

export const MODEL = "@cf/moonshotai/kimi-k2.6";
const ACCOUNT = "agents";
const TIMEOUT_MS = 120_000;

/** The scenario failed. */
export class Failure extends Error {}

export interface McpCall {
	name: string;
	arguments: unknown;
}
const McpCall = z.object({ name: z.string(), arguments: z.unknown() });

export class Run {
	readonly client: Client;
	readonly engine: Engine;
	readonly tap: Tap;
	/** A text that only the MCP server has. */
	readonly secret = nonce();
	/** A text in each prompt of the run. */
	readonly marker = nonce();
	readonly #gateway: Gateway;
	readonly #context: Context;
	readonly #command: string;
	readonly #mcpLog: string;
	readonly #outputs: Promise<string>[] = [];

	private constructor(
		{ client, command }: { client: Client; command: string },
		parts: { engine: Engine; tap: Tap; gateway: Gateway },
		context: Omit<Context, "mcp">,
	) {
		this.client = client;
		this.engine = parts.engine;
		this.tap = parts.tap;
		this.#gateway = parts.gateway;
		this.#command = command;
		this.#mcpLog = join(context.home, "mcp.log");
		const server = join(import.meta.dirname, "mcp-server.ts");
		this.#context = { ...context, mcp: [process.execPath, server, this.#mcpLog, this.secret] };
		client.configure?.(this.#context);
	}

	/** `folder`: an empty folder for this run. `model`: the name that the agent sends. */
	static async open(agent: { client: Client; command: string }, folder: string, model = MODEL): Promise<Run> {
		const home = join(folder, "home");
		const project = join(folder, "project");
		for (const path of [home, project]) mkdirSync(path, { recursive: true });
		const engine = new Engine();
		const gateway = await Gateway.start(join(folder, "gateway"), settings(await engine.listen()));
		const tap = new Tap(gateway.url);
		const [address, bearer] = await Promise.all([tap.listen(), gateway.createToken(ACCOUNT)]);
		return new Run(
			agent,
			{ engine, tap, gateway },
			{
				base: `${address}/client/v4/accounts/${ACCOUNT}/ai`,
				token: bearer.replace("Bearer ", ""),
				model,
				home,
				folder: project,
			},
		);
	}

	/** `keep`: writes the agent's requests and answers, and the engine's calls, into the folder of the run. */
	async close(keep: string | undefined): Promise<void> {
		if (keep !== undefined) {
			writeFileSync(join(keep, "output.txt"), (await Promise.all(this.#outputs)).join("\n"));
			writeFileSync(join(keep, "agent.json"), JSON.stringify(this.tap.records, null, "\t"));
			writeFileSync(join(keep, "engine.json"), JSON.stringify(this.engine.calls, null, "\t"));
		}
		this.tap.close();
		await this.#gateway.stop();
		this.engine.close();
	}

	start(text: string, { resume = false, timeoutMs = TIMEOUT_MS } = {}): Running {
		const { args, env } = this.client.command(this.prompt(text), this.#context, resume);
		const running = start({
			command: this.#command,
			args,
			env: { ...environment(this.#context.home), ...env },
			folder: this.#context.folder,
			timeoutMs,
		});
		this.#outputs.push(running.ended.then(({ output }) => output));
		return running;
	}

	prompt(text: string): string {
		return `${text} (run ${this.marker})`;
	}

	/** Runs the agent until it ends. Throws a `Failure` if it fails. */
	async complete(text: string, resume = false): Promise<Ended> {
		const ended = await this.start(text, { resume }).ended;
		if (ended.timedOut) throw new Failure(`no end after ${TIMEOUT_MS / 1000} s${this.evidence(ended)}`);
		if (ended.code !== 0)
			throw new Failure(`ended with ${ended.signal ?? ended.code}${this.evidence(ended)}`);
		return ended;
	}

	/** Requests for answers, without those for lists of models or token counts. */
	get answerRequests(): Recorded[] {
		return this.tap.records.filter(({ method, path }) => method === "POST" && this.client.path.test(path));
	}

	/** A request of the conversation, not a side request for a title, a memory or similar. */
	isMain(body: ChatBody): boolean {
		const { messages, tools = [] } = body;
		// Claude Code adds a text after the results of a search for tools.
		const last = messages.findLast(
			({ role }, index) => role === "user" && messages[index - 1]?.role !== "tool",
		);
		return tools.length > 0 && last !== undefined && textOfMessage(last).includes(this.marker);
	}

	get mcpCalls(): McpCall[] {
		if (!existsSync(this.#mcpLog)) return [];
		const lines = readFileSync(this.#mcpLog, "utf8").split("\n");
		return lines.filter((line) => line !== "").map((line) => McpCall.parse(JSON.parse(line)));
	}

	/** The last request of the conversation. `agent`: its name and version. */
	fixture(agent: string): Fixture | undefined {
		const record = this.answerRequests.findLast(({ response }) => !response.includes(SIDE_TEXT));
		const { folder, home } = this.#context;
		return record && fixtureOf(record, agent, { [folder]: "/home/user/project", [home]: "/home/user" });
	}

	/** Details for a failure: the last output, and the requests that the gateway refused. */
	evidence({ output }: Pick<Ended, "output">): string {
		const refused = this.tap.records
			.filter(({ status = 0 }) => status >= 400)
			.map(
				({ method, path, response, status }) => `${method} ${path}: ${status} ${response.replace(IDS, "…")}`,
			);
		const lines = [...new Set(refused), ...output.trim().split("\n").slice(-LAST_LINES)];
		return lines.map((line) => `\n    ${line.slice(0, LINE_CHARACTERS)}`).join("");
	}
}

/** The engine's answer to side requests for titles, memories and similar. */
export const SIDE_TEXT = "A short title";

/** Ids differ in each refusal, so they are removed. */
const IDS = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const LAST_LINES = 6;
const LINE_CHARACTERS = 300;

/** A unique text that no agent and no prompt contains. */
export function nonce(): string {
	return `w${randomBytes(4).toString("hex")}`;
}

/** One engine for all models. The gateway does not retry, so that the agent's own retries are tested. */
const settings = (engine: string): Record<string, unknown> => ({
	BACKENDS: { engine: { kind: "openai", url: engine } },
	ROUTES: { "*": { targets: [{ backend: "engine" }], retries: { attempts: 1 } } },
	LIMITS: { requests_per_minute: "none" },
});
