/** Runs real models on this machine: llama-server with the weights of the user's folder, behind one address for the gateway. */
import { randomBytes } from "node:crypto";
import * as z from "zod";
import { findLlamaServer } from "./binary.ts";
import { type Door, type Engine, openDoor } from "./door.ts";
import { sourceOf } from "./hub.ts";
import { Library, type LibraryRow } from "./library.ts";
import { presetOf, sectionsOf } from "./preset.ts";
import { LocalProblem } from "./problem.ts";
import type { Progress } from "./progress.ts";
import { checkMemory, memoryForModels, modelsAtOnce } from "./room.ts";
import { Router, type RouterModelsSetting } from "./router.ts";
import { modelsFolder, type PresentWeights, removeWeights } from "./store.ts";
import { findWeights, licenceOf, memoryOf, WEIGHTS, type Weights } from "./table.ts";

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
	readonly #door: Door;

	private constructor({
		key,
		library,
		router,
		door,
	}: { key: string; library: Library; router: Router; door: Door }) {
		this.key = key;
		this.library = library;
		this.#router = router;
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
				await router.reload(settingOf(present));
				changed?.();
			},
		});
		for (const { weights } of presetOf(library.present).refused)
			log(
				`${weights.name} is left out: llama-server cannot read a path with a line break, ";" or "#" (${folder})`,
			);
		const router = new Router({ server, log, ...settingOf(library.present) });
		const door = await openDoor(engineOf(library, router), key);
		return new LocalEngine({ key, library, router, door });
	}

	get url(): string {
		return this.#door.url;
	}

	/** The process of llama-server. */
	get pid(): number | undefined {
		return this.#router.pid;
	}

	/** Resolves when llama-server answers. */
	async ready(): Promise<void> {
		await this.#router.ready();
	}

	async stop(): Promise<void> {
		this.#door.close();
		this.library.close();
		await this.#router.stop();
	}
}

const settingOf = (present: readonly PresentWeights[]): RouterModelsSetting => ({
	preset: presetOf(present).text,
	atOnce: modelsAtOnce(present.flatMap(({ weights, size }) => sectionsOf(weights).map(() => size))),
});

const SECTIONS = new Map(WEIGHTS.flatMap((row) => sectionsOf(row).map((section) => [section, row] as const)));

function engineOf(library: Library, router: Router): Engine {
	return {
		async prepare(model, signal) {
			const weights = SECTIONS.get(model);
			if (!weights)
				throw new LocalProblem("weights_missing", `No model '${model}' is known to the local engine`);
			checkMemory(weights.name, (await library.require(weights, signal)).size);
			return { url: await router.ready(), key: router.key };
		},
		async loadFailure(model) {
			await router.refreshStates();
			if (!router.states.get(model)?.failed) return undefined;
			return new LocalProblem(
				"weights_unreadable",
				`llama-server cannot load ${model}: check its files with \`ganglion models pull ${SECTIONS.get(model)?.name}\`, or update llama.cpp`,
			);
		},
		status: () => ({
			folder: library.folder,
			memory_bytes: memoryForModels(),
			models: library.rows().map((row) => describeRow(row, router)),
		}),
		async command(name, body) {
			const { data } = Command.safeParse(body);
			const weights = data && findWeights(data.model, Date.now());
			if (!weights)
				throw new LocalProblem("weights_missing", "No such model: expected the name of one in /status");
			return run(name, { weights, accepts: data.accept_licence ?? false }, { library, router });
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
	{ library, router }: { library: Library; router: Router },
): Promise<object> {
	const sections = sectionsOf(weights);
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
			await router.change(weights.name, "load");
			break;
		case "unload":
			for (const section of sections) await router.change(section, "unload");
			break;
		case "remove":
			for (const section of sections) await router.change(section, "unload");
			removeWeights(library.folder, weights);
			await library.refresh();
			break;
	}
	return { model: weights.name };
}

const FIRST_ANSWER_MS = 1_000;

function describeRow({ weights, present, progress }: LibraryRow, router: Router): object {
	const { name, repository, relation, serves, use } = weights;
	const states = sectionsOf(weights).flatMap((section) => router.states.get(section) ?? []);
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
