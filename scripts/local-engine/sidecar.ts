/** Runs the server of `engine/`, which has the models that llama-server lacks. It is installed and started by the first request for one. */
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import * as z from "zod";
import { parseJson } from "../../src/core/json.ts";
import { Agent } from "../http.ts";
import type { Address } from "./door.ts";
import { ManagedServer } from "./managed-server.ts";
import type { ModelState } from "./models.ts";
import { installEngine } from "./packages.ts";
import { LocalProblem } from "./problem.ts";
import { memoryForSidecar } from "./room.ts";
import type { PresentWeights } from "./store.ts";
import { isOnnx, memoryOf, type Weights } from "./table.ts";

/** Longest time without a token, or for a run of an encoder. */
const STUCK_MS = 120_000;
const LOAD_MS = 300_000;
/** A loaded model with many requests takes turns with one that waits for its memory. */
const TURN_MS = 10_000;

const List = z.object({
	data: z.array(
		z.looseObject({
			name: z.string(),
			state: z.enum(["unloaded", "loading", "loaded"]),
			progress: z.number().optional(),
			failed: z.boolean().optional(),
			pid: z.int().optional(),
		}),
	),
});

const Refusal = z.object({ error: z.object({ message: z.string() }) });

const NAME = "The engine of ONNX models";

interface SidecarOptions {
	key: string;
	env: Readonly<Record<string, string | undefined>>;
	log(line: string): void;
}

export class Sidecar {
	readonly #options: SidecarOptions;
	readonly #folder = mkdtempSync(join(tmpdir(), "ganglion-onnx-"));
	#present: readonly PresentWeights[] = [];
	readonly #agent = new Agent({ keepAlive: true });
	#starting: Promise<ManagedServer> | undefined;
	#isStopped = false;

	constructor(options: SidecarOptions) {
		this.#options = options;
	}

	/** Resolves when the server answers. Throws a problem if it cannot be installed. */
	async addresses(): Promise<Address[]> {
		const server = await this.#start();
		return [{ server: NAME, url: await server.ready(), agent: this.#agent, isOpen: true }];
	}

	/** The process of the server, if it was started. */
	async pid(): Promise<number | undefined> {
		return (await this.#starting)?.pid;
	}

	async setModels(present: readonly PresentWeights[]): Promise<void> {
		this.#present = present.filter(({ weights }) => isOnnx(weights));
		const server = await this.#started();
		if (server) await this.#sendModels(server);
	}

	async states(): Promise<ReadonlyMap<string, ModelState>> {
		const server = await this.#started();
		if (!server) return new Map();
		try {
			const response = await server.fetch("/models");
			const list = List.parse(parseJson(await response.text()));
			return new Map(
				list.data.map(({ name, state, progress, failed }) => [
					name,
					{ value: state, progress, ...(failed && { failed }) },
				]),
			);
		} catch {
			// It starts again.
			return new Map();
		}
	}

	async change({ name }: Weights, action: "load" | "unload"): Promise<void> {
		if (action === "unload" && !(await this.#started())) return;
		const server = await this.#start();
		await server.ready();
		const response = await server.fetch(`/models/${action}`, {
			body: { model: name },
			signal: AbortSignal.timeout(LOAD_MS),
		});
		const { data: refusal } = Refusal.safeParse(parseJson(await response.text()));
		if (!response.ok && action === "load")
			throw new LocalProblem("weights_unreadable", refusal?.error.message ?? `${name} cannot be loaded`);
	}

	async stop(): Promise<void> {
		this.#isStopped = true;
		const server = await this.#started();
		await server?.stop();
		this.#agent.destroy();
		rmSync(this.#folder, { recursive: true, force: true });
	}

	/** Not one that is being installed. */
	async #started(): Promise<ManagedServer | undefined> {
		return Promise.race([this.#starting?.catch(() => undefined), Promise.resolve().then(() => undefined)]);
	}

	#start(): Promise<ManagedServer> {
		this.#starting ??= this.#install().catch((error: unknown) => {
			// The next request tries again.
			this.#starting = undefined;
			throw error;
		});
		return this.#starting;
	}

	async #install(): Promise<ManagedServer> {
		const { env, log, key } = this.#options;
		const program = await installEngine(env, log);
		if (this.#isStopped) throw new Error("The local engine is stopped");
		const server: ManagedServer = new ManagedServer({
			...{ name: NAME, folder: this.#folder, log, key },
			command: (port) => ({
				command: process.execPath,
				args: [program],
				env: {
					GANGLION_ENGINE: JSON.stringify({
						...{ port, key, memory: memoryForSidecar(), stuckMs: STUCK_MS, loadMs: LOAD_MS, turnMs: TURN_MS },
						threads: Math.max(1, availableParallelism() - 1),
					}),
				},
			}),
			started: () => this.#sendModels(server),
			ended() {},
			said(line) {
				const [, kind, text] = /^(model|fault): (.+)$/.exec(line) ?? [];
				if (text !== undefined) log(kind === "fault" ? `${NAME} has failed: ${text}` : text);
			},
		});
		return server;
	}

	async #sendModels(server: ManagedServer): Promise<void> {
		const models = this.#present.map(({ weights, size, path }) => ({
			...{ name: weights.name, task: weights.use, dtype: weights.dtype ?? "fp32", memory: memoryOf(size) },
			...(weights.language !== undefined && { language: weights.language }),
			folder: dirname(path("config.json")),
		}));
		const response = await server.fetch("/models", { method: "PUT", body: { models } });
		await response.body?.cancel();
	}
}
