/**
 * Runs a server on a free port of loopback. It is started again if it ends. It ends with this process, also if this
 * process is killed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { IncomingMessage } from "node:http";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { hasEnded } from "../child.ts";
import { freePort } from "../free-port.ts";
import { endWithThisProcess } from "../parent.ts";
import { getInBackground } from "./background-get.ts";
import { LocalProblem } from "./problem.ts";

const READY_MS = 30_000;
const POLL_MS = 20;
/** Before the next start. It doubles with each further one. */
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 30_000;
/** A process that ran longer than this has no fault at its start. */
const STABLE_MS = 60_000;
/** For running answers and models to end. */
const STOP_MS = 3_000;
/** Lines of its output that a message shows. */
const KEPT_LINES = 20;

/** How a process is started. */
export interface ServerCommand {
	command: string;
	args: readonly string[];
	env: Readonly<Record<string, string | undefined>>;
}

interface Options {
	/** For messages. */
	name: string;
	/** A folder that is removed when this process ends. */
	folder: string;
	/** Which the server expects. */
	key: string;
	/** Called at each start. */
	command(port: number): ServerCommand;
	/** The server answers. */
	started(): unknown;
	ended(): void;
	log(line: string): void;
	/** Called with each line of its output. */
	said?(line: string): void;
}

export class ManagedServer {
	readonly #options: Options;
	#port = 0;
	#child: ChildProcess | undefined;
	/** Resolves when the present process answers. */
	#ready: Promise<void>;
	#isStopped = false;
	#hasAnswered = false;
	#pauseMs = FIRST_PAUSE_MS;
	#lines: string[] = [];
	/** Why the latest process ended, and how many in a row have ended like that. */
	#end = { reason: "", count: 0 };
	readonly #onExit = (): void => this.#kill("SIGKILL");

	constructor(options: Options) {
		this.#options = options;
		process.on("exit", this.#onExit);
		this.#ready = this.#start();
		// Requests report the failure.
		this.#ready.catch(() => {});
	}

	get pid(): number | undefined {
		return this.#child?.pid;
	}

	/**
	 * Resolves with the address when the server answers. Throws a problem if a start fails. If the server has answered once, waits for a second
	 * start: the failure of one may be by chance.
	 */
	async ready(): Promise<URL> {
		// A start alone does not keep this process running.
		const awaited = setInterval(() => {}, READY_MS);
		try {
			for (let failed = 0; ; ) {
				const ready = this.#ready;
				try {
					await ready;
					if (ready === this.#ready) return this.#url;
				} catch (error) {
					const isLast = !this.#hasAnswered || failed++ > 0;
					if (this.#isStopped || ready === this.#ready || isLast) throw error;
				}
			}
		} finally {
			clearInterval(awaited);
		}
	}

	async restart(): Promise<void> {
		this.#pauseMs = FIRST_PAUSE_MS;
		const before = this.#ready;
		this.#kill("SIGTERM");
		while (this.#ready === before && !this.#isStopped) await wait(POLL_MS);
		await this.ready();
	}

	/** Calls a route of the present process, also before it has answered. */
	fetch(
		path: string,
		{ body, method, signal }: { body?: unknown; method?: string; signal?: AbortSignal } = {},
	) {
		return fetch(new URL(path, this.#url), {
			method: method ?? (body === undefined ? "GET" : "POST"),
			headers: { ...this.#authorization, "content-type": "application/json" },
			...(body !== undefined && { body: JSON.stringify(body) }),
			signal: signal ?? AbortSignal.timeout(READY_MS),
		});
	}

	/** Opens an answer without an end. It does not keep this process running. */
	follow(path: string, signal: AbortSignal): Promise<IncomingMessage> {
		return getInBackground({ url: String(new URL(path, this.#url)), headers: this.#authorization, signal });
	}

	async stop(): Promise<void> {
		if (this.#isStopped) return;
		this.#isStopped = true;
		const child = this.#child;
		if (child?.pid !== undefined && !hasEnded(child)) {
			const ended = new Promise((resolve) => child.once("exit", resolve));
			// Otherwise a script would end before, as if it had failed.
			child.ref();
			child.kill("SIGTERM");
			const timer = setTimeout(() => this.#kill("SIGKILL"), STOP_MS);
			await ended;
			clearTimeout(timer);
		}
		process.off("exit", this.#onExit);
	}

	get #authorization(): { authorization: string } {
		return { authorization: `Bearer ${this.#options.key}` };
	}

	get #url(): URL {
		return new URL(`http://127.0.0.1:${this.#port}`);
	}

	async #start(): Promise<void> {
		const { folder, log, started, ended: onEnd } = this.#options;
		this.#port = await freePort();
		if (this.#isStopped) throw stopped();
		const { command, args, env } = this.#options.command(this.#port);
		this.#lines = [];
		const startedAt = performance.now();
		const child = spawn(command, args, {
			stdio: ["ignore", "pipe", "pipe"],
			// Other users of the machine can read arguments.
			env: { ...process.env, ...env },
			// A terminal's Ctrl-C is for the gateway, whose running answers need it.
			detached: true,
		});
		this.#child = child;
		endWithThisProcess(child, folder);
		const ended = new Promise<string>((resolve) => {
			child.once("error", (error) => resolve(error.message));
			child.once("exit", (code, signal) => resolve(`exit ${signal ?? code}`));
		});
		for (const stream of [child.stdout, child.stderr]) {
			if (!stream) continue;
			createInterface({ input: stream }).on("line", (line) => this.#keep(line));
			// It must not keep this process alive.
			if ("unref" in stream && typeof stream.unref === "function") stream.unref();
		}
		child.unref();
		void ended.then((how) => {
			if (this.#isStopped) return;
			onEnd();
			if (performance.now() - startedAt > STABLE_MS) this.#pauseMs = FIRST_PAUSE_MS;
			log(this.#recordEnd(how));
			this.#ready = this.#startAgain();
			this.#ready.catch(() => {});
		});
		await this.#answers(ended);
		await started();
		this.#hasAnswered = true;
	}

	/** Returns the text for the log. It has the last lines only if they are new: a server that cannot start has the same ones at each start. */
	#recordEnd(how: string): string {
		const lines = this.#lines.join("\n");
		// Times, ports and process ids differ.
		const reason = `${how}\n${lines}`.replace(/\d+/g, "0");
		this.#end = { reason, count: reason === this.#end.reason ? this.#end.count + 1 : 1 };
		const { count } = this.#end;
		const ended = `${this.#options.name} has ended (${how})`;
		const again = `It starts again in ${this.#pauseMs} ms.`;
		return count === 1
			? `${ended}. ${again}\n${lines}`
			: `${ended}, ${count} times in a row with the same output. ${again}`;
	}

	async #startAgain(): Promise<void> {
		const pause = this.#pauseMs;
		this.#pauseMs = Math.min(pause * 2, MAX_PAUSE_MS);
		await wait(pause, undefined, { ref: false });
		if (this.#isStopped) throw stopped();
		await this.#start();
	}

	async #answers(ended: Promise<string>): Promise<void> {
		const until = performance.now() + READY_MS;
		let how: string | undefined;
		void ended.then((text) => {
			how = text;
		});
		while (performance.now() < until && how === undefined) {
			if (await this.#isHealthy()) return;
			await wait(POLL_MS, undefined, { ref: false });
		}
		const { name } = this.#options;
		throw new LocalProblem(
			"engine_unavailable",
			how === undefined
				? `${name} did not answer within ${READY_MS / 1_000} s`
				: `${name} has ended (${how}): ${this.#lines.at(-1) ?? "without a message"}`,
			{ retryAfter: 1 },
		);
	}

	async #isHealthy(): Promise<boolean> {
		try {
			const url = String(new URL("/health", this.#url));
			const answer = await getInBackground({ url, signal: AbortSignal.timeout(READY_MS) });
			answer.destroy();
			return answer.statusCode === 200;
		} catch {
			return false;
		}
	}

	#keep(line: string): void {
		this.#options.said?.(line);
		this.#lines.push(line);
		if (this.#lines.length > KEPT_LINES) this.#lines.shift();
	}

	#kill(name: NodeJS.Signals): void {
		const child = this.#child;
		if (child && !hasEnded(child)) child.kill(name);
	}
}

const stopped = (): LocalProblem => new LocalProblem("engine_unavailable", "The local engine is stopped");
