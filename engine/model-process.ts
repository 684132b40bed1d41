/** The child process of a model: started, loaded, called, and killed if it is stuck. */
import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { EngineFailure } from "./failure.ts";
import { loggedFault } from "./fault.ts";
import type { EngineModel, FailureCause, FromProcess, Item, Result, ToProcess } from "./model.ts";

export interface ProcessLimits {
	/** Milliseconds without an answer or a token after which a process counts as stuck. */
	stuckMs: number;
	/** Milliseconds for the load of a model. */
	loadMs: number;
	/** Threads of one run. */
	threads: number;
}

/** The process ended before it had answered. */
export class ProcessEnded extends Error {
	/** It was killed because it did not answer. */
	readonly wasStuck: boolean;

	constructor(message: string, wasStuck: boolean) {
		super(message);
		this.wasStuck = wasStuck;
	}
}

interface PendingRun {
	resolve(results: Result[]): void;
	reject(error: Error): void;
	timer: NodeJS.Timeout;
}

const KILLS: ReadonlySet<NodeJS.Signals | null> = new Set(["SIGKILL", "SIGTERM"]);

const CHILD = join(import.meta.dirname, `child${import.meta.filename.endsWith(".ts") ? ".ts" : ".js"}`);

export class ModelProcess {
	/** From 0 to 1. */
	loadedPart = 0;
	readonly #model: EngineModel;
	readonly #limits: ProcessLimits;
	readonly #child: ChildProcess;
	readonly #runs = new Map<number, PendingRun>();
	/** Resolves when the process has ended. */
	readonly ended: Promise<void>;
	/** Resolves when the model is loaded. */
	readonly ready: Promise<void>;
	#lastRun = 0;
	#isStuck = false;
	#hasEnded = false;
	#lastLine = "";

	constructor(model: EngineModel, limits: ProcessLimits) {
		this.#model = model;
		this.#limits = limits;
		this.#child = fork(CHILD, [], {
			serialization: "advanced",
			stdio: ["ignore", "ignore", "pipe", "ipc"],
			detached: true,
		});
		this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
			this.#lastLine = text.trim().split("\n").at(-1)?.slice(0, 300) || this.#lastLine;
		});
		this.ended = new Promise((resolve) => {
			this.#child.once("exit", () => resolve());
			this.#child.once("error", () => resolve());
		});
		this.ready = this.#load();
		// Requests report the failure.
		this.ready.catch(() => {});
		void this.ended.then(() => {
			this.#hasEnded = true;
			for (const run of this.#runs.values()) {
				clearTimeout(run.timer);
				run.reject(this.#failure());
			}
			this.#runs.clear();
		});
	}

	get pid(): number | undefined {
		return this.#child.pid;
	}

	/** Rejects with {@link ProcessEnded} if the process ends. */
	run(items: Item[], onStart: (cancel: () => void) => void): Promise<Result[]> {
		if (this.#hasEnded) return Promise.reject(this.#failure());
		const id = ++this.#lastRun;
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => this.#killStuck(), this.#limits.stuckMs);
			this.#runs.set(id, { resolve, reject, timer });
			onStart(() => this.#send({ kind: "cancel", id }));
			this.#send({ kind: "run", id, items });
		});
	}

	kill(): void {
		this.#child.kill("SIGKILL");
	}

	#load(): Promise<void> {
		const { loadMs, threads } = this.#limits;
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => this.#killStuck(), loadMs);
			this.#child.on("message", (message: FromProcess) => {
				if (message.kind === "progress") this.loadedPart = Math.max(this.loadedPart, message.part);
				else if (message.kind === "loaded") {
					clearTimeout(timer);
					this.loadedPart = 1;
					resolve();
				} else if (message.kind === "unreadable") {
					clearTimeout(timer);
					reject(this.#internal(message) ?? this.#unreadable(message.message));
					this.kill();
				} else this.#receive(message);
			});
			void this.ended.then(() => {
				clearTimeout(timer);
				const failure = this.#failure();
				reject(this.#wasKilled ? failure : this.#unreadable(failure.message));
			});
			this.#send({ kind: "load", model: this.#model, threads });
		});
	}

	#receive(message: Extract<FromProcess, { id: number }>): void {
		const run = this.#runs.get(message.id);
		if (!run) return;
		if (message.kind === "token") return void run.timer.refresh();
		clearTimeout(run.timer);
		this.#runs.delete(message.id);
		if (message.kind === "done") run.resolve(message.results);
		else
			run.reject(
				this.#internal(message) ??
					new EngineFailure("weights_unreadable", `${this.#model.name} failed: ${message.message}`),
			);
	}

	#send(message: ToProcess): void {
		// The end of the process rejects the run.
		if (this.#child.connected) this.#child.send(message, () => {});
	}

	#killStuck(): void {
		this.#isStuck = true;
		this.kill();
	}

	/** By another process. The model is not the reason. */
	get #wasKilled(): boolean {
		return !this.#isStuck && KILLS.has(this.#child.signalCode);
	}

	#failure(): ProcessEnded {
		const { signalCode, exitCode } = this.#child;
		const how = this.#isStuck ? "it did not answer, and was ended" : `exit ${signalCode ?? exitCode}`;
		const line = this.#lastLine ? `: ${this.#lastLine}` : "";
		return new ProcessEnded(`the process of ${this.#model.name} has ended (${how})${line}`, this.#isStuck);
	}

	/** A fault of the engine's own code is logged. `undefined`: the model has failed. */
	#internal({ fault }: FailureCause): EngineFailure | undefined {
		return fault && loggedFault(fault, this.#model.name);
	}

	#unreadable(reason: string): EngineFailure {
		const { name } = this.#model;
		return new EngineFailure(
			"weights_unreadable",
			`${name} cannot be loaded: check its files with \`npx ganglion models pull ${name}\` (${reason.slice(0, 300)})`,
		);
	}
}
