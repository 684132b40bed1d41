/** The moves of indexes to other stores, which the durable queue runs. */
import { AiError } from "../../../core/errors.ts";
import { type IndexMove, isRunning } from "../durable/move-table.ts";
import { indexNotFound } from "../failures.ts";
import type { VectorIndexRecord } from "../records.ts";
import type { StorePlacement } from "../stores/store-settings.ts";
import type { VectorStore } from "../vector-store.ts";
import { namedStore } from "./placement.ts";
import type { VectorRegistryCalls } from "./vector-objects.ts";

export interface OpenMove {
	move: IndexMove;
	source: VectorStore;
	target: VectorStore;
	/** Whether mutations of the stores become visible later. */
	isSourceDelayed: boolean;
	isTargetDelayed: boolean;
}

interface MovesServices {
	placement: StorePlacement;
	uuid(): string;
	now(): number;
	call<Value>(account: string, method: (registry: VectorRegistryCalls) => Promise<Value>): Promise<Value>;
	storeOf(account: string, index: VectorIndexRecord, signal?: AbortSignal): VectorStore;
}

export class VectorMoves {
	readonly #services: MovesServices;

	constructor(services: MovesServices) {
		this.#services = services;
	}

	call<Value>(account: string, method: (registry: VectorRegistryCalls) => Promise<Value>): Promise<Value> {
		return this.#services.call(account, method);
	}

	/** Begins a move to a store, or returns the one that runs. Throws 3000 for an unknown index, and 1001 for an unknown store. */
	async start(account: string, name: string, to: string): Promise<IndexMove> {
		const { now, placement, uuid } = this.#services;
		const index = await this.call(account, (registry) => registry.get(name));
		if (!index) throw indexNotFound(name);
		const store = namedStore(account, name, to, placement);
		const running = await this.call(account, (registry) => registry.move(name));
		if (store === index.store && !(running && isRunning(running)))
			throw new AiError("invalidRequest", `store: the index is in the store "${store}"`);
		const target = {
			...index,
			...{ store, object: `${account}/${uuid()}`, delayMs: 0, modifiedAt: now() },
		};
		const move = await this.call(account, (registry) =>
			registry.startMove(name, {
				...{ account, target, phase: "starting", total: 0, copied: 0, pausedUntil: 0, fence: 0 },
			}),
		);
		if (move.target.store !== store)
			throw new AiError("invalidRequest", `store: the index moves to the store "${move.target.store}"`);
		return move;
	}

	/** The last move. `undefined`: there was none. */
	async last(account: string, name: string): Promise<IndexMove | undefined> {
		const index = await this.call(account, (registry) => registry.get(name));
		if (!index) throw indexNotFound(name);
		return this.call(account, (registry) => registry.move(name));
	}

	/** The index stays in its store. `undefined`: no move runs. */
	end(
		account: string,
		name: string,
		end: Pick<IndexMove, "phase" | "error">,
	): Promise<IndexMove | undefined> {
		return this.call(account, (registry) => registry.endMove(name, end));
	}

	/** `undefined`: no move runs. */
	async open(account: string, name: string, signal: AbortSignal): Promise<OpenMove | undefined> {
		const { storeOf } = this.#services;
		const index = await this.call(account, (registry) => registry.get(name));
		const move = await this.call(account, (registry) => registry.move(name));
		if (!index || !move || !isRunning(move)) return undefined;
		return {
			move,
			source: storeOf(account, index, signal),
			target: storeOf(account, move.target, signal),
			isSourceDelayed: this.#isDelayed(index),
			isTargetDelayed: this.#isDelayed(move.target),
		};
	}

	#isDelayed({ delayMs, store }: VectorIndexRecord): boolean {
		return delayMs > 0 || this.#services.placement.stores.get(store)?.kind === "vectorize";
	}
}
