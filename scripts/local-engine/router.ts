/**
 * Runs llama-server in router mode: one process for all models, which starts a process of its own for each model at its first request. Its
 * models end with it.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "../http.ts";
import type { LlamaServer } from "./binary.ts";
import type { Address } from "./door.ts";
import { ManagedServer, type ServerCommand } from "./managed-server.ts";
import { type ModelStates, RouterModels } from "./models.ts";

const SLEEP_AFTER_SECONDS = 1_800;
/** Its other lines are several for each request, which this process would read. */
const WARNINGS = "2";
const UNLIMITED = 0;
const NAME = "llama-server";
/** A connection occupies a thread for five seconds after its last answer. */
const CONNECTIONS = "256";
/**
 * Turns of a loop in which a thread of OpenMP waits for the others before it sleeps. With libgomp's own 300,000 the threads hold the cores for some
 * milliseconds after each token, which others need on a busy machine. With 1,000 or none they sleep amid a token, which takes up to twice as long.
 */
const WAITING_TURNS = "10000";

/** Nothing if the user has decided. */
const waitingThreads = ({
	GOMP_SPINCOUNT,
	OMP_WAIT_POLICY,
}: NodeJS.ProcessEnv): { GOMP_SPINCOUNT?: string } =>
	GOMP_SPINCOUNT === undefined && OMP_WAIT_POLICY === undefined ? { GOMP_SPINCOUNT: WAITING_TURNS } : {};

export interface RouterModelsSetting {
	/** Models that may be loaded at once. */
	atOnce: number;
	/** All models may be loaded at once. */
	allFit: boolean;
	/** The preset file's text. */
	preset: string;
}

interface RouterOptions extends RouterModelsSetting {
	/** Also of the processes of models. */
	key: string;
	server: LlamaServer;
	log(line: string): void;
}

export class Router {
	readonly #options: RouterOptions;
	readonly #folder = mkdtempSync(join(tmpdir(), "ganglion-local-"));
	readonly #models: RouterModels;
	readonly #server: ManagedServer;
	// llama-server closes a connection after an answer of a model without saying so. A request on such a one would be lost.
	readonly #agent = new Agent({ keepAlive: false });
	readonly #modelAgent = new Agent({ keepAlive: true });
	/** Models that the present process loads at once. */
	#most: number = UNLIMITED;

	constructor(options: RouterOptions) {
		this.#options = options;
		this.#models = new RouterModels({
			get: (path) => this.#server.fetch(path),
			follow: (path, signal) => this.#server.follow(path, signal),
			changed: (model, { value, failed }) =>
				options.log(`${model} is ${value}${failed ? ", because it failed" : ""}`),
		});
		this.#server = new ManagedServer({
			...{ name: NAME, folder: this.#folder, log: options.log },
			key: options.key,
			command: (port) => this.#command(port),
			started: () => void this.#models.follow(),
			ended: () => this.#models.close(),
		});
	}

	get pid(): number | undefined {
		return this.#server.pid;
	}

	get states(): ModelStates {
		return this.#models.states;
	}

	/** Events may be later than the answer that they explain. */
	refreshStates(): Promise<void> {
		return this.#models.refresh();
	}

	/** Resolves when llama-server answers. */
	async ready(): Promise<void> {
		await this.#server.ready();
	}

	/**
	 * Resolves when llama-server answers. Its models are processes with the same key and the same routes, and a call of one takes half the time.
	 * Only llama-server itself knows which model was used last, so it passes the calls on if it may have to unload one.
	 */
	async addresses(model: string): Promise<Address[]> {
		const url = await this.#server.ready();
		const { port } = this.states.get(model) ?? {};
		const router = { server: NAME, url, agent: this.#agent };
		if (port === undefined || this.#most !== UNLIMITED) return [router];
		return [
			{ server: NAME, url: new URL(`http://127.0.0.1:${port}`), agent: this.#modelAgent, isOpen: true },
			router,
		];
	}

	/** Takes other models. Loaded ones that it still has stay loaded, unless fewer fit into the memory at once. */
	async reload(setting: RouterModelsSetting): Promise<void> {
		const fits = this.#most === UNLIMITED ? setting.allFit : setting.atOnce >= this.#most;
		const isSame = fits && setting.preset === this.#options.preset;
		Object.assign(this.#options, setting);
		if (isSame) return;
		this.#writePreset();
		if (!fits) return this.#server.restart();
		await this.ready();
		const response = await this.#server.fetch("/models?reload=1");
		await response.body?.cancel();
		await this.#models.refresh();
	}

	/** Loads a model, or ends its process. */
	async change(model: string, action: "load" | "unload"): Promise<void> {
		await this.ready();
		const response = await this.#server.fetch(`/models/${action}`, { body: { model } });
		await response.body?.cancel();
	}

	async stop(): Promise<void> {
		this.#models.close();
		await this.#server.stop();
		this.#modelAgent.destroy();
		rmSync(this.#folder, { recursive: true, force: true });
	}

	get #presetFile(): string {
		return join(this.#folder, "models.ini");
	}

	#writePreset(): void {
		writeFileSync(this.#presetFile, this.#options.preset, { mode: 0o600 });
	}

	#command(port: number): ServerCommand {
		const { server, atOnce, allFit, key } = this.#options;
		this.#most = allFit ? UNLIMITED : atOnce;
		this.#writePreset();
		return {
			command: server.command,
			args: [
				...server.args,
				...["--host", "127.0.0.1", "--port", String(port), "--no-ui", "--offline", "--metrics"],
				...["--models-preset", this.#presetFile, "--models-max", String(this.#most)],
				...["--sleep-idle-seconds", String(SLEEP_AFTER_SECONDS), "--log-colors", "off"],
				...["--log-verbosity", WARNINGS, "--threads-http", CONNECTIONS],
			],
			env: { ...waitingThreads(process.env), LLAMA_API_KEY: key },
		};
	}
}
