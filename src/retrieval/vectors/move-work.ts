/**
 * The handler of the durable queue: moves an index to another store. It copies the pages of a list, and then the vectors that have changed since
 * their copy. At the end mutations wait until the last changes are copied, and the index changes its store in one commit of the registry.
 *
 * Each step is repeated after a kill, and a repeated one writes the same vectors. A process that is killed while mutations wait delays them by
 * {@link PAUSE_MS} at most.
 */
import { AiError } from "../../core/errors.ts";
import {
	PermanentWorkError,
	PostponedWork,
	type WorkHandler,
	type WorkRun,
} from "../../storage/queue/work.ts";
import type { OpenMove, VectorMoves } from "./client/vector-moves.ts";
import type { VectorRegistryCalls } from "./client/vector-objects.ts";
import type { ChangedId, IndexMove, MovePhase } from "./durable/move-table.ts";
import type { MoveWork } from "./move-item.ts";
import type { StoredVector, VectorBatch } from "./records.ts";
import type { VectorStore } from "./vector-store.ts";

/** Mutations wait so long, unless a run renews it. */
const PAUSE_MS = 20_000;
/** So many changes are copied while mutations wait. */
const FINAL_CHANGES = 200;
/** Mutations that are faster than the copies must wait, too. */
const MAX_ROUNDS = 50;
const PAGE_BYTES = 2_000_000;
const MAX_PAGE = 500;
const FLOAT_BYTES = 4;
const MUTATION_RETRY_MS = 200;
const VISIBLE_RETRY_MS = 1_000;
/** Vectorize makes mutations visible within two minutes. Then those that are not are lost. */
const VISIBLE_MS = 5 * 60_000;
const MAX_ATTEMPTS = 10;

export const moveHandler = (moves: VectorMoves, now: () => number): WorkHandler => ({
	maxAttempts: MAX_ATTEMPTS,
	async run(run) {
		const { index, object } = run.payload as MoveWork;
		const opened = await moves.open(run.account, index, run.signal);
		if (opened?.move.target.object === object)
			await new MoveRun(index, run, { ...opened, moves, now }).toEnd();
	},
	failed: async ({ account, payload }, error) =>
		void (await moves.end(account, (payload as MoveWork).index, { phase: "failed", error })),
});

interface MoveServices extends OpenMove {
	moves: VectorMoves;
	now(): number;
}

class MoveRun {
	readonly #name: string;
	readonly #run: WorkRun;
	readonly #services: MoveServices;
	#move: IndexMove;

	constructor(name: string, run: WorkRun, services: MoveServices) {
		this.#name = name;
		this.#run = run;
		this.#services = services;
		this.#move = services.move;
	}

	async toEnd(): Promise<void> {
		const steps: Readonly<Partial<Record<MovePhase, () => Promise<void>>>> = {
			starting: () => this.#start(),
			copying: () => this.#copyPage(),
			switching: () => this.#copyLast(),
			finishing: () => this.#finish(),
		};
		for (;;) {
			const step = steps[this.#move.phase];
			if (!step) return;
			this.#run.signal.throwIfAborted();
			try {
				await step();
			} catch (error) {
				if (error instanceof PostponedWork) throw error;
				// Mutations do not wait for the next attempt.
				if (this.#move.pausedUntil > 0) await this.#change({ pausedUntil: 0, phase: "switching" });
				throw isFinal(error) ? new PermanentWorkError(error.description) : error;
			}
			const { copied, phase, total } = this.#move;
			this.#run.progress({ phase, copied, total });
		}
	}

	#change(changes: Partial<IndexMove>): Promise<void> {
		return this.#changed((registry) => registry.changeMove(this.#name, this.#run.fence, changes));
	}

	#pause(): Promise<void> {
		return this.#changed((registry) => registry.pauseMutations(this.#name, this.#run.fence, PAUSE_MS));
	}

	/** Throws if another run has taken the move over, or it has ended. */
	async #changed(change: (registry: VectorRegistryCalls) => Promise<IndexMove | undefined>): Promise<void> {
		const move = await this.#services.moves.call(this.#run.account, change);
		if (!move) throw new PostponedWork(0);
		this.#move = move;
	}

	async #start(): Promise<void> {
		const { isSourceDelayed, source, target } = this.#services;
		await this.#change({});
		await target.create();
		await this.#copyProperties();
		// A list has only what is visible.
		if (isSourceDelayed) await this.#awaitVisible(source);
		const { vectorCount } = await source.info();
		await this.#change({ phase: "copying", total: vectorCount });
	}

	/** Metadata indexes before vectors, because they have only later ones. */
	async #copyProperties(): Promise<void> {
		const { source, target } = this.#services;
		const indexes = await source.metadataIndexes();
		const present = await target.metadataIndexes();
		const key = (index: object): string => JSON.stringify(Object.entries(index).sort());
		const difference = (all: typeof indexes, others: typeof indexes): typeof indexes => {
			const keys = new Set(others.map(key));
			return all.filter((index) => !keys.has(key(index)));
		};
		for (const index of difference(present, indexes))
			await target.write({ id: crypto.randomUUID(), operation: "delete-metadata-index", index });
		for (const index of difference(indexes, await target.metadataIndexes()))
			await target.write({ id: crypto.randomUUID(), operation: "create-metadata-index", index });
	}

	get #pageSize(): number {
		const { dimensions } = this.#move.target;
		return Math.max(1, Math.min(MAX_PAGE, Math.floor(PAGE_BYTES / (dimensions * FLOAT_BYTES))));
	}

	async #copyPage(): Promise<void> {
		const { source } = this.#services;
		const { copied, cursor } = this.#move;
		const page = await source
			.list({ count: this.#pageSize, ...(cursor !== undefined && { cursor }) })
			.catch((error: unknown) => {
				if (!(error instanceof AiError) || error.key !== "vectorCursorInvalid") throw error;
				return undefined;
			});
		// The move has paused for longer than a list can be continued: the list begins again.
		if (!page) return this.#change({ cursor: undefined, copied: 0 });
		await this.#put(await source.get(page.ids));
		const next = page.next?.cursor;
		await this.#change({
			...{ cursor: next, copied: copied + page.ids.length },
			...(next === undefined && { phase: "switching" }),
		});
	}

	async #put(vectors: readonly StoredVector[]): Promise<void> {
		if (vectors.length === 0) return;
		const batches = [batchOf(vectors, this.#move.target.dimensions)];
		await this.#services.target.write({ id: crypto.randomUUID(), operation: "upsert", batches });
	}

	async #copyLast(): Promise<void> {
		const { isSourceDelayed, source } = this.#services;
		// What is not visible cannot be copied.
		for (let round = 0; round < MAX_ROUNDS && !isSourceDelayed; round++) {
			const { changes } = await this.#pending();
			if (changes <= FINAL_CHANGES) break;
			await this.#copyChanges(await this.#nextChanges());
		}
		await this.#pause();
		if ((await this.#pending()).mutations > 0) throw new PostponedWork(MUTATION_RETRY_MS);
		if (isSourceDelayed) await this.#awaitVisible(source);
		await this.#copyProperties();
		for (let ids = await this.#nextChanges(); ids.length > 0; ids = await this.#nextChanges()) {
			await this.#copyChanges(ids);
			await this.#pause();
		}
		await this.#change({ phase: "finishing" });
	}

	async #finish(): Promise<void> {
		const { isTargetDelayed, moves, target } = this.#services;
		const { account, fence } = this.#run;
		await this.#pause();
		if (isTargetDelayed) await this.#awaitVisible(target);
		const isSwitched = await moves.call(account, (registry) => registry.switchStore(this.#name, fence));
		if (isSwitched) this.#move = { ...this.#move, phase: "completed" };
		// The pause had ended meanwhile.
		else await this.#change({ phase: "switching" });
	}

	#pending(): Promise<{ mutations: number; changes: number }> {
		return this.#services.moves.call(this.#run.account, (registry) => registry.pending(this.#name));
	}

	#nextChanges(): Promise<ChangedId[]> {
		const { moves } = this.#services;
		return moves.call(this.#run.account, (registry) => registry.changed(this.#name, this.#pageSize));
	}

	async #copyChanges(changed: readonly ChangedId[]): Promise<void> {
		const { moves, source, target } = this.#services;
		const ids = changed.map(({ id }) => id);
		const vectors = await source.get(ids);
		const found = new Set(vectors.map(({ id }) => id));
		const deleted = ids.filter((id) => !found.has(id));
		await this.#put(vectors);
		if (deleted.length > 0)
			await target.write({ id: crypto.randomUUID(), operation: "delete", ids: deleted });
		await moves.call(this.#run.account, (registry) => registry.copied(this.#name, changed));
	}

	/** Writes a mutation without an effect, until the store shows one of them: mutations become visible in their order. */
	async #awaitVisible(store: VectorStore): Promise<void> {
		const { now } = this.#services;
		const { markers = { ids: [], since: now() }, pausedUntil } = this.#move;
		const { processedMutation = "" } = await store.info();
		if (markers.ids.includes(processedMutation) || now() - markers.since > VISIBLE_MS)
			return this.#change({ markers: undefined });
		const absent = [`ganglion-move-${crypto.randomUUID()}`.slice(0, 64)];
		const marker = await store.write({ id: crypto.randomUUID(), operation: "delete", ids: absent });
		await this.#change({ markers: { ...markers, ids: [...markers.ids, marker] } });
		if (pausedUntil > 0) await this.#pause();
		throw new PostponedWork(VISIBLE_RETRY_MS);
	}
}

/** A refusal that another attempt cannot change, such as that of an index that is full. */
const isFinal = (error: unknown): error is AiError =>
	error instanceof AiError && error.status >= 400 && error.status < 500 && error.status !== 429;

function batchOf(vectors: readonly StoredVector[], dimensions: number): VectorBatch {
	const values = new Float32Array(vectors.length * dimensions);
	for (const [at, vector] of vectors.entries()) values.set(vector.values, at * dimensions);
	return { records: vectors.map(({ values: _, ...record }) => record), values };
}
