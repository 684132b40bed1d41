/** One agent in one scenario: its folders and a recording proxy (tap) between agent and gateway. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import type { Conversation } from "../../../test/hosts/script.ts";
import type { HostCall, Hosts } from "../../../test/hosts/server.ts";
import { ACCOUNT } from "../gateway.ts";
import type { CodingAgent, Context } from "./client.ts";
import { type Fixture, fixtureOf } from "./fixtures.ts";
import { type Ended, environment, type Running, start } from "./process.ts";
import { type Recorded, Tap } from "./tap.ts";

const TIMEOUT_MS = 120_000;

/** The scenario failed. */
export class Failure extends Error {}

export interface McpCall {
	name: string;
	arguments: unknown;
}
const McpCall = z.object({ name: z.string(), arguments: z.unknown() });

export interface RunOptions {
	/** An empty folder. */
	folder: string;
	hosts: Hosts;
	/** The name that the agent sends. */
	model: string;
	/** The gateway's address. */
	origin: string;
	token: string;
}

export class Run {
	readonly client: CodingAgent;
	readonly hosts: Hosts;
	readonly tap: Tap;
	/** A text that only the MCP server has. */
	readonly secret = nonce();
	/** A text in each prompt of the run. */
	readonly marker = nonce();
	readonly #firstCall: number;
	readonly #context: Context;
	readonly #command: string;
	readonly #mcpLog: string;
	readonly #outputs: Promise<string>[] = [];

	private constructor(
		{ client, command }: { client: CodingAgent; command: string },
		{ hosts, tap }: { hosts: Hosts; tap: Tap },
		context: Omit<Context, "mcp">,
	) {
		this.client = client;
		this.hosts = hosts;
		this.tap = tap;
		this.#firstCall = hosts.calls.length;
		this.#command = command;
		this.#mcpLog = join(context.home, "mcp.log");
		const server = join(import.meta.dirname, "mcp-server.ts");
		this.#context = { ...context, mcp: [process.execPath, server, this.#mcpLog, this.secret] };
		client.configure?.(this.#context);
	}

	/** `folder`: an empty folder for this run. */
	static async open(
		agent: { client: CodingAgent; command: string },
		{ folder, hosts, model, origin, token }: RunOptions,
	): Promise<Run> {
		const home = join(folder, "home");
		const project = join(folder, "project");
		for (const path of [home, project]) mkdirSync(path, { recursive: true });
		const tap = new Tap(origin);
		const base = `${await tap.listen()}/client/v4/accounts/${ACCOUNT}/ai`;
		return new Run(agent, { hosts, tap }, { base, token, model, home, folder: project });
	}

	/** `keep`: writes the agent's requests and answers, and the calls of the hosts, into the folder of the run. */
	async close(keep: string | undefined): Promise<void> {
		if (keep !== undefined) {
			writeFileSync(join(keep, "output.txt"), (await Promise.all(this.#outputs)).join("\n"));
			writeFileSync(join(keep, "agent.json"), JSON.stringify(this.tap.records, null, "\t"));
			writeFileSync(join(keep, "hosts.json"), JSON.stringify(this.calls, null, "\t"));
		}
		this.tap.close();
	}

	/** Where the agent works. */
	get projectFolder(): string {
		return this.#context.folder;
	}

	/** Changes the agent's configuration. */
	configure(change?: (context: Context) => void): void {
		change?.(this.#context);
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

	/** The calls that reached the hosts. */
	get calls(): readonly HostCall[] {
		return this.hosts.calls.slice(this.#firstCall);
	}

	/** A request of the conversation, not a side request for a title, a memory or similar. */
	isMain({ tools, turns }: Conversation): boolean {
		return tools.length > 0 && turns.some(({ role, text }) => role === "user" && text.includes(this.marker));
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
