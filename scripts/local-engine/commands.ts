/** Commands of the operator: they download, load, unload and remove weights. */
import * as z from "zod";
import type { Library } from "./library.ts";
import { sectionsOf } from "./preset.ts";
import { LocalProblem } from "./problem.ts";
import { checkMemory, memoryForModels, memoryForSidecar } from "./room.ts";
import type { Router } from "./router.ts";
import type { Sidecar } from "./sidecar.ts";
import { removeWeights } from "./store.ts";
import { findWeights, isOnnx, type Weights } from "./table.ts";

/** What runs the models. */
export interface Engines {
	library: Library;
	router: Router;
	sidecar: Sidecar;
}

const Command = z.object({ model: z.string().max(256), accept_licence: z.boolean().optional() });

/** A failure within this time is the answer of the command. A later one is in the status. */
const FIRST_ANSWER_MS = 1_000;

export class Commands {
	readonly #engines: Engines;
	/** By the name of the weights: why the last command about them failed. */
	readonly problems = new Map<string, string>();

	constructor(engines: Engines) {
		this.#engines = engines;
	}

	async run(name: string, body: unknown): Promise<object> {
		const { data } = Command.safeParse(body);
		const weights = data && findWeights(data.model, Date.now());
		if (!weights)
			throw new LocalProblem(
				"weights_missing",
				"model: expected a name of the list (GET /client/v4/local-models)",
			);
		await this.#change(name, weights, data.accept_licence ?? false);
		return { model: weights.name };
	}

	async #change(name: string, weights: Weights, accepts: boolean): Promise<void> {
		const { library } = this.#engines;
		switch (name) {
			case "pull":
				return this.#begin(weights, library.pull(weights, { accepts }).ended);
			case "cancel":
				this.problems.delete(weights.name);
				return library.cancel(weights);
			case "load":
				return this.#begin(weights, this.#load(weights));
			case "unload":
				return this.#unload(weights);
			case "remove":
				await library.cancel(weights);
				await this.#unload(weights);
				removeWeights(library.folder, weights);
				this.problems.delete(weights.name);
				return library.refresh();
		}
	}

	/** Waits for the first moments of what may take minutes. */
	async #begin({ name }: Weights, work: Promise<unknown>): Promise<void> {
		this.problems.delete(name);
		const kept = work.catch((error: unknown) => {
			const isCancelled = error instanceof Error && error.name === "AbortError";
			if (!isCancelled) this.problems.set(name, error instanceof Error ? error.message : String(error));
			throw error;
		});
		let timer: NodeJS.Timeout | undefined;
		const first = new Promise((resolve) => {
			timer = setTimeout(resolve, FIRST_ANSWER_MS);
		});
		await Promise.race([kept, first]).finally(() => clearTimeout(timer));
	}

	async #load(weights: Weights): Promise<void> {
		const { library, router, sidecar } = this.#engines;
		const { size } = await library.require(weights, AbortSignal.timeout(FIRST_ANSWER_MS));
		checkMemory(weights.name, size, isOnnx(weights) ? memoryForSidecar() : memoryForModels());
		if (isOnnx(weights)) await sidecar.change(weights, "load");
		else await router.change(weights.name, "load");
	}

	async #unload(weights: Weights): Promise<void> {
		const { router, sidecar } = this.#engines;
		if (isOnnx(weights)) return sidecar.change(weights, "unload");
		for (const section of sectionsOf(weights)) await router.change(section, "unload");
	}
}
