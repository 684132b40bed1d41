/** Runs real models on this machine: llama-server with the weights of the user's folder, behind one address for the gateway. */
import { randomBytes } from "node:crypto";
import { findLlamaServer } from "./binary.ts";
import { Commands, type Engines } from "./commands.ts";
import { type Door, type Engine, openDoor } from "./door.ts";
import { Library } from "./library.ts";
import { installProblem } from "./packages.ts";
import { presetOf, sectionsOf } from "./preset.ts";
import { LocalProblem } from "./problem.ts";
import { checkLocked, readProjectLock } from "./project-lock.ts";
import { checkMemory, memoryForModels, memoryForRouter, memoryForSidecar, modelsAtOnce } from "./room.ts";
import { Router, type RouterModelsSetting } from "./router.ts";
import { Sidecar } from "./sidecar.ts";
import { sourceOf } from "./sources.ts";
import { loadProblem, statusOf } from "./status.ts";
import { FOLDER_SETTING, modelsFolder, type PresentWeights } from "./store.ts";
import { isOnnx, WEIGHTS } from "./table.ts";
import { folderProblem } from "./unwritable.ts";

interface LocalEngineOptions {
	env: Readonly<Record<string, string | undefined>>;
	/** Missing weights are downloaded at their first use. */
	pulls: boolean;
	log(line: string): void;
	/** The folder with the project's lock, if it has one. The current folder if absent. */
	project?: string;
	/** Called when files of weights have come or gone, and llama-server knows it. */
	changed?(): void;
}

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
	static async start({
		env,
		pulls,
		log,
		changed,
		project = process.cwd(),
	}: LocalEngineOptions): Promise<LocalEngine> {
		const server = await findLlamaServer(env);
		const folder = modelsFolder(env);
		const locked = readProjectLock(project, Date.now());
		const key = randomBytes(32).toString("base64url");
		const library = new Library({
			...{ folder, pulls, log, locked },
			source: () => sourceOf(env),
			async changed(present) {
				await sidecar.setModels(present);
				await router.reload(settingOf(present));
				changed?.();
			},
		});
		const unwritable = await folderProblem(folder, FOLDER_SETTING);
		if (unwritable !== undefined) log(`No weights can be downloaded: ${unwritable}`);
		const uninstallable = await installProblem(env);
		if (uninstallable !== undefined)
			log(`The packages that run ONNX models cannot be installed: ${uninstallable}`);
		for (const { weights } of presetOf(library.present).refused)
			log(
				`${weights.name} is left out: llama-server cannot read a path with a line break, ";" or "#" (${folder})`,
			);
		for (const present of library.present) {
			const wanted = locked.get(present.weights.name);
			if (wanted) await checkLocked(present, wanted).catch(({ message }: Error) => log(message));
		}
		const router = new Router({ server, log, key, ...settingOf(library.present) });
		const sidecar = new Sidecar({ env, log, key });
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

function settingOf(present: readonly PresentWeights[]): RouterModelsSetting {
	const sizes = present
		.filter(({ weights }) => !isOnnx(weights))
		.flatMap(({ weights, size }) => sectionsOf(weights).map(() => size));
	const atOnce = modelsAtOnce(sizes, memoryForRouter(present.some(({ weights }) => isOnnx(weights))));
	return { preset: presetOf(present).text, atOnce, allFit: sizes.length <= atOnce };
}

/** Routes of tasks that OpenAI's API lacks: only the engine of ONNX models has them. */
const TASK_ROUTE = /^\/(?:predict|v1\/(?:translate|summarize|classify-image|detect-objects|audio\/.+))$/;

const SECTIONS = new Map(WEIGHTS.flatMap((row) => sectionsOf(row).map((section) => [section, row] as const)));

function engineOf(engines: Engines): Engine {
	const { library, router, sidecar } = engines;
	const commands = new Commands(engines);
	// Read once: the system states the memory in files.
	const memory = { models: memoryForModels(), sidecar: memoryForSidecar() };
	return {
		async prepare(model, path, signal) {
			const weights = SECTIONS.get(model);
			if (!weights)
				throw new LocalProblem("weights_missing", `No model '${model}' is known to the local engine`);
			if (!isOnnx(weights) && TASK_ROUTE.test(path))
				throw new LocalProblem("task_unsupported", `${weights.name} has no route ${path}`);
			const { size } = await library.require(weights, signal);
			checkMemory(weights.name, size, isOnnx(weights) ? memory.sidecar : memory.models);
			return isOnnx(weights) ? sidecar.addresses() : router.addresses(model);
		},
		async loadFailure(model) {
			// The other engine has a sentence of its own.
			const weights = SECTIONS.get(model);
			if (!weights || isOnnx(weights)) return undefined;
			await router.refreshStates();
			return router.states.get(model)?.failed ? loadProblem(weights) : undefined;
		},
		status: () => statusOf(engines, commands.problems),
		command: (name, body) => commands.run(name, body),
	};
}
