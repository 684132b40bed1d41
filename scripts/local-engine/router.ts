/**
 * Runs llama-server in router mode: one process for all models, which starts a process of its own for each model at its first request. Its
 * models end with it.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LlamaServer } from "./binary.ts";
import { ManagedServer, type ServerCommand } from "./managed-server.ts";
import { type ModelStates, RouterModels } from "./models.ts";

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
	readonly #options: RouterOptions;
	readonly #folder = mkdtempSync(join(tmpdir(), "ganglion-local-"));
	readonly #models: RouterModels;
	readonly #server: ManagedServer;

	constructor(options: RouterOptions) {
		this.#options = options;
		this.#models = new RouterModels({
			get: (path, signal) => this.#server.fetch(path, { signal }),
			changed: (model, { value, failed }) =>
				options.log(`${model} is ${value}${failed ? ", because it failed" : ""}`),
		});
		this.#server = new ManagedServer({
			...{ name: "llama-server", folder: this.#folder, log: options.log },
			command: (port, key) => this.#command(port, key),
			started: () => void this.#models.follow(),
			ended: () => this.#models.close(),
		});
	}

	get key(): string {
		return this.#server.key;
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

	/** Resolves with the address when llama-server answers. */
	ready(): Promise<URL> {
		return this.#server.ready();
	}

	/** Takes other models. Loaded ones that it still has stay loaded, unless fewer fit into the memory at once. */
	async reload({ preset, atOnce }: RouterModelsSetting): Promise<void> {
		const fits = atOnce >= this.#options.atOnce;
		const isSame = fits && preset === this.#options.preset;
		Object.assign(this.#options, { preset, atOnce });
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
		rmSync(this.#folder, { recursive: true, force: true });
	}

	get #presetFile(): string {
		return join(this.#folder, "models.ini");
	}

	#writePreset(): void {
		writeFileSync(this.#presetFile, this.#options.preset, { mode: 0o600 });
	}

	#command(port: number, key: string): ServerCommand {
		const { server, atOnce } = this.#options;
		this.#writePreset();
		return {
			command: server.command,
			args: [
				...server.args,
				...["--host", "127.0.0.1", "--port", String(port), "--no-ui", "--offline", "--metrics"],
				...["--models-preset", this.#presetFile, "--models-max", String(atOnce)],
				...["--sleep-idle-seconds", String(SLEEP_AFTER_SECONDS), "--log-colors", "off"],
			],
			env: { LLAMA_API_KEY: key },
		};
	}
}
