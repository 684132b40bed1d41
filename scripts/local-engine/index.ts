/** Runs real models on this machine: llama-server with the weights of the user's folder, behind one address for the gateway. */
import { randomBytes } from "node:crypto";
import * as z from "zod";
import { findLlamaServer } from "./binary.ts";
import { type Door, type Engine, openDoor } from "./door.ts";
import { sourceOf } from "./hub.ts";
import { Library, type LibraryRow } from "./library.ts";
import type { ModelState } from "./models.ts";
import { presetOf, sectionsOf } from "./preset.ts";
import { LocalProblem } from "./problem.ts";
import type { Progress } from "./progress.ts";
import { checkMemory, memoryForModels, memoryForRouter, memoryForSidecar, modelsAtOnce } from "./room.ts";
import { Router, type RouterModelsSetting } from "./router.ts";
import { Sidecar } from "./sidecar.ts";
import { modelsFolder, type PresentWeights, removeWeights } from "./store.ts";
import { findWeights, isOnnx, licenceOf, memoryOf, WEIGHTS, type Weights } from "./table.ts";

interface LocalEngineOptions {
	env: Readonly<Record<string, string | undefined>>;
	/** Missing weights are downloaded at their first use. */
	pulls: boolean;
	log(line: string): void;
	/** Called when files of weights have come or gone, and llama-server knows it. */
	changed?(): void;
}

const Command = z.object({ model: z.string().max(256), accept_licence: z.boolean().optional() });

export class LocalEngine {
	readonly key: string;
	readonly library: Library;
	readonly #router: Router;
	readonly #sidecar: Sidecar;
	readonly #door: Door;

	private constructor({ key, engines, door }: { key: string; engines: Engines; door: Door }) {
		this.key = key;
		this.library = engines.library;
		this.#router = engines.router;
		this.#sidecar = engines.sidecar;
		this.#door = door;
	}

	/** Throws a problem if there is no usable llama-server. */
	static async start({ env, pulls, log, changed }: LocalEngineOptions): Promise<LocalEngine> {
		const server = await findLlamaServer(env);
		const folder = modelsFolder(env);
		const key = randomBytes(32).toString("base64url");
		const library = new Library({
			...{ folder, pulls, log },
			source: () => sourceOf(env),
			async changed(present) {
				await sidecar.setModels(present);
				await router.reload(settingOf(present));
				changed?.();
			},
		});
		for (const { weights } of presetOf(library.present).refused)
			log(
				`${weights.name} is left out: llama-server cannot read a path with a line break, ";" or "#" (${folder})`,
			);
		const router = new Router({ server, log, ...settingOf(library.present) });
		const sidecar = new Sidecar({ env, log });
		await sidecar.setModels(library.present);
		const engines = { library, router, sidecar };
		const door = await openDoor(engineOf(engines), key);
		return new LocalEngine({ key, engines, door });
	}

	get url(): string {
		return this.#door.url;
	}

	/** The process of llama-server. */
	get pid(): number | undefined {
		return this.#router.pid;
	}

	/** The process that serves ONNX models, if it was started. */
	sidecarPid(): Promise<number | undefined> {
		return this.#sidecar.pid();
	}

	/** Resolves when llama-server answers. */
	async ready(): Promise<void> {
		await this.#router.ready();
	}

	async stop(): Promise<void> {
		this.#door.close();
		this.library.close();
		await Promise.all([this.#router.stop(), this.#sidecar.stop()]);
	}
}

const settingOf = (present: readonly PresentWeights[]): RouterModelsSetting => ({
	preset: presetOf(present).text,
	atOnce: modelsAtOnce(
		present
			.filter(({ weights }) => !isOnnx(weights))
			.flatMap(({ weights, size }) => sectionsOf(weights).map(() => size)),
		memoryForRouter(present.some(({ weights }) => isOnnx(weights))),
	),
});

/** What runs the models. */
interface Engines {
	library: Library;
	router: Router;
	sidecar: Sidecar;
}

/** Routes of tasks that OpenAI's API lacks: only the engine of ONNX models has them. */
const TASK_ROUTE = /^\/(?:predict|v1\/(?:translate|summarize|classify-image|detect-objects|audio\/.+))$/;

const SECTIONS = new Map(WEIGHTS.flatMap((row) => sectionsOf(row).map((section) => [section, row] as const)));

function engineOf(engines: Engines): Engine {
	const { library, router, sidecar } = engines;
	return {
		async prepare(model, path, signal) {
			const weights = SECTIONS.get(model);
			if (!weights)
				throw new LocalProblem("weights_missing", `No model '${model}' is known to the local engine`);
			if (!isOnnx(weights) && TASK_ROUTE.test(path))
				throw new LocalProblem("task_unsupported", `${weights.name} has no route ${path}`);
			const { size } = await library.require(weights, signal);
			checkMemory(weights.name, size, isOnnx(weights) ? memoryForSidecar() : memoryForModels());
			return isOnnx(weights) ? sidecar.ready() : { url: await router.ready(), key: router.key };
		},
		async loadFailure(model) {
			// The other engine has a sentence of its own.
			const weights = SECTIONS.get(model);
			if (!weights || isOnnx(weights)) return undefined;
			await router.refreshStates();
			if (!router.states.get(model)?.failed) return undefined;
			return new LocalProblem(
				"weights_unreadable",
				`llama-server cannot load ${model}: check its files with \`ganglion models pull ${weights.name}\`, or update llama.cpp`,
			);
		},
		async status() {
			const states = new Map([...router.states, ...(await sidecar.states())]);
			return {
				folder: library.folder,
				memory_bytes: memoryForModels(),
				models: library.rows().map((row) => describeRow(row, states)),
			};
		},
		async command(name, body) {
			const { data } = Command.safeParse(body);
			const weights = data && findWeights(data.model, Date.now());
			if (!weights)
				throw new LocalProblem("weights_missing", "No such model: expected the name of one in /status");
			return run(name, { weights, accepts: data.accept_licence ?? false }, engines);
		},
	};
}

interface CommandCall {
	weights: Weights;
	accepts: boolean;
}

async function run(
	name: string,
	{ weights, accepts }: CommandCall,
	{ library, router, sidecar }: Engines,
): Promise<object> {
	const unload = async (): Promise<void> => {
		if (isOnnx(weights)) return sidecar.change(weights, "unload");
		for (const section of sectionsOf(weights)) await router.change(section, "unload");
	};
	switch (name) {
		case "pull": {
			const { ended } = library.pull(weights, { accepts });
			// A refusal before the first byte is the answer. Later ones are in the status.
			await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, FIRST_ANSWER_MS))]);
			break;
		}
		case "cancel":
			library.cancel(weights);
			break;
		case "load":
			checkMemory(weights.name, (await library.require(weights, AbortSignal.timeout(FIRST_ANSWER_MS))).size);
			if (isOnnx(weights)) await sidecar.change(weights, "load");
			else await router.change(weights.name, "load");
			break;
		case "unload":
			await unload();
			break;
		case "remove":
			await unload();
			removeWeights(library.folder, weights);
			await library.refresh();
			break;
	}
	return { model: weights.name };
}

const FIRST_ANSWER_MS = 1_000;

function describeRow(
	{ weights, present, progress }: LibraryRow,
	all: ReadonlyMap<string, ModelState>,
): object {
	const { name, repository, relation, serves, use } = weights;
	const states = sectionsOf(weights).flatMap((section) => all.get(section) ?? []);
	const state = states.find(({ value }) => value !== "unloaded") ?? states[0];
	const licence = licenceOf(weights);
	const size = present?.size ?? weights.files.reduce((sum, { megabytes }) => sum + megabytes * 1_000_000, 0);
	return {
		...{ name, repository, relation, serves, use, size, licence: licence.name },
		memory: memoryOf(size),
		...(licence.accept !== undefined && { licence_text: licence.accept }),
		...(present && { revision: present.manifest.revision }),
		state: progress ? "downloading" : present ? (state?.value ?? "unloaded") : "missing",
		...(state?.failed && { failed: true }),
		...(progress && { progress: describeProgress(progress) }),
	};
}

const describeProgress = ({ done, total, perSecond, secondsLeft }: Progress): object => ({
	...{ done, total, per_second: perSecond },
	...(secondsLeft !== undefined && { seconds_left: secondsLeft }),
});
