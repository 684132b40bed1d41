/**
 * Runs llama-server in router mode: one process for all models, which starts a process of its own for each model at its first request.
 * It listens on a free port of loopback with a random key, and is started again if it ends. It ends with this process, also if this process
 * is killed: its models end with it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "../free-port.ts";
import { endWithThisProcess } from "../parent.ts";
import type { LlamaServer } from "./binary.ts";
import { type ModelStates, RouterModels } from "./models.ts";
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
const SLEEP_AFTER_SECONDS = 1_800;

export interface RouterModelsSetting {
	/** Models that may be loaded at once. */
	atOnce: number;
	/** The preset file's text. */
	preset: string;
}

interface RouterOptions extends RouterModelsSetting {
	server: LlamaServer;
	log(line: string): void;
}

export class Router {
	readonly key = randomBytes(32).toString("base64url");
	readonly #options: RouterOptions;
	readonly #folder = mkdtempSync(join(tmpdir(), "ganglion-local-"));
	readonly #models: RouterModels;
	#port = 0;
	#child: ChildProcess | undefined;
	/** Resolves when the present process answers. */
	#ready: Promise<void>;
	#isStopped = false;
	#pauseMs = FIRST_PAUSE_MS;
	#lines: string[] = [];
	readonly #onExit = (): void => this.#kill("SIGKILL");

	constructor(options: RouterOptions) {
		this.#options = options;
		this.#models = new RouterModels({ get: (path, signal) => this.#get(path, signal) });
		process.on("exit", this.#onExit);
		this.#ready = this.#start();
		// Requests report the failure.
		this.#ready.catch(() => {});
	}

	get pid(): number | undefined {
		return this.#child?.pid;
	}

	get states(): ModelStates {
		return this.#models.states;
	}

	/** Events may be later than the answer that they explain. */
	refreshStates(): Promise<void> {
		return this.#models.refresh();
	}

	/** Resolves with the address when llama-server answers. */
	async ready(): Promise<URL> {
		for (;;) {
			const ready = this.#ready;
			await ready;
			if (ready === this.#ready) return new URL(`http://127.0.0.1:${this.#port}`);
		}
	}

	/** Takes other models. Loaded ones that it still has stay loaded, unless fewer fit into the memory at once. */
	async reload({ preset, atOnce }: RouterModelsSetting): Promise<void> {
		const fits = atOnce >= this.#options.atOnce;
		Object.assign(this.#options, { preset, atOnce });
		this.#writePreset();
		if (!fits) return this.#restart();
		await this.ready();
		const response = await this.#get("/models?reload=1");
		await response.body?.cancel();
		await this.#models.refresh();
	}

	async #restart(): Promise<void> {
		this.#pauseMs = FIRST_PAUSE_MS;
		const before = this.#ready;
		this.#kill("SIGTERM");
		while (this.#ready === before && !this.#isStopped) await wait(POLL_MS);
		await this.ready();
	}

	/** Loads a model, or ends its process. */
	async change(model: string, action: "load" | "unload"): Promise<void> {
		const url = new URL(`/models/${action}`, await this.ready());
		const response = await fetch(url, {
			method: "POST",
			headers: { ...this.#authorization, "content-type": "application/json" },
			body: JSON.stringify({ model }),
			signal: AbortSignal.timeout(READY_MS),
		});
		await response.body?.cancel();
	}

	/** The last lines of its output. */
	lastLines(): string {
		return this.#lines.join("\n");
	}

	async stop(): Promise<void> {
		if (this.#isStopped) return;
		this.#isStopped = true;
		this.#models.close();
		const child = this.#child;
		if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) {
			const ended = new Promise((resolve) => child.once("exit", resolve));
			child.kill("SIGTERM");
			const timer = setTimeout(() => this.#kill("SIGKILL"), STOP_MS);
			await ended;
			clearTimeout(timer);
		}
		process.off("exit", this.#onExit);
		rmSync(this.#folder, { recursive: true, force: true });
	}

	get #authorization(): Record<string, string> {
		return { authorization: `Bearer ${this.key}` };
	}

	get #presetFile(): string {
		return join(this.#folder, "models.ini");
	}

	#writePreset(): void {
		writeFileSync(this.#presetFile, this.#options.preset, { mode: 0o600 });
	}

	async #start(): Promise<void> {
		const { server, atOnce, log } = this.#options;
		this.#writePreset();
		this.#port = await freePort();
		if (this.#isStopped) throw stopped();
		this.#lines = [];
		const startedAt = performance.now();
		const child = spawn(
			server.command,
			[
				...server.args,
				...["--host", "127.0.0.1", "--port", String(this.#port), "--no-ui", "--offline", "--metrics"],
				...["--models-preset", this.#presetFile, "--models-max", String(atOnce)],
				...["--sleep-idle-seconds", String(SLEEP_AFTER_SECONDS), "--log-colors", "off"],
			],
			{
				stdio: ["ignore", "pipe", "pipe"],
				// Other users of the machine can read arguments.
				env: { ...process.env, LLAMA_API_KEY: this.key },
				// A terminal's Ctrl-C is for the gateway, whose running answers need it.
				detached: true,
			},
		);
		this.#child = child;
		endWithThisProcess(child, this.#folder);
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
			this.#models.close();
			if (performance.now() - startedAt > STABLE_MS) this.#pauseMs = FIRST_PAUSE_MS;
			log(`llama-server has ended (${how}). It starts again in ${this.#pauseMs} ms.\n${this.lastLines()}`);
			this.#ready = this.#startAgain();
			this.#ready.catch(() => {});
		});
		await this.#answers(ended);
		void this.#models.follow();
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
			await wait(POLL_MS);
		}
		throw new LocalProblem(
			"engine_unavailable",
			how === undefined
				? `llama-server did not answer within ${READY_MS / 1_000} s`
				: `llama-server has ended (${how}): ${this.#lines.at(-1) ?? "without a message"}`,
			{ retryAfter: 1 },
		);
	}

	async #isHealthy(): Promise<boolean> {
		try {
			const response = await fetch(`http://127.0.0.1:${this.#port}/health`, {
				signal: AbortSignal.timeout(READY_MS),
			});
			await response.body?.cancel();
			return response.ok;
		} catch {
			return false;
		}
	}

	#get(path: string, signal?: AbortSignal): Promise<Response> {
		return fetch(`http://127.0.0.1:${this.#port}${path}`, {
			headers: this.#authorization,
			signal: signal ?? AbortSignal.timeout(READY_MS),
		});
	}

	#keep(line: string): void {
		this.#lines.push(line);
		if (this.#lines.length > KEPT_LINES) this.#lines.shift();
	}

	#kill(name: NodeJS.Signals): void {
		const child = this.#child;
		if (child && child.exitCode === null && child.signalCode === null) child.kill(name);
	}
}

const stopped = (): LocalProblem => new LocalProblem("engine_unavailable", "The local engine is stopped");
