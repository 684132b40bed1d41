/**
 * Requests of one model, one run at a time. Texts for encoders that wait are run together: padded to the longest one, they may have
 * a certain number of tokens. Short texts gain four times from that, long ones little.
 */
import { EngineFailure } from "./failure.ts";
import type { EngineTask, Item, Result } from "./model.ts";
import { type ModelProcess, ProcessEnded } from "./model-process.ts";

const MAX_BATCH_TOKENS = 4_096;
const MAX_BATCH_ITEMS = 64;
/** Of requests that wait. */
export const MAX_WAITING_ITEMS = 4_096;
/** Bytes of a token in a text of many languages. Only the size of a batch depends on it. */
const BYTES_PER_TOKEN = 4;
/** Marks of the model around a text. */
const MARKS = 3;
/** An item whose process ended is run once again. */
const MAX_RUNS = 2;

const BATCHED: ReadonlySet<EngineTask> = new Set(["embeddings", "reranking", "text-classification"]);

interface Waiting {
	item: Item;
	tokens: number;
	runs: number;
	isCancelled: boolean;
	resolve(result: Result): void;
	reject(error: Error): void;
}

/** An estimate. */
export const tokensOf = ({ text = "", query = "" }: Item): number =>
	Math.ceil((text.length + query.length) / BYTES_PER_TOKEN) + MARKS;

/** The number of first items that are run together. At least 1. */
export function batchLength(items: readonly { tokens: number }[], task: EngineTask): number {
	if (!BATCHED.has(task)) return 1;
	let longest = 0;
	let count = 0;
	for (const { tokens } of items) {
		longest = Math.max(longest, tokens);
		if (count > 0 && (longest * (count + 1) > MAX_BATCH_TOKENS || count === MAX_BATCH_ITEMS)) break;
		count += 1;
	}
	return count;
}

export interface QueueEvents {
	batch(items: number): void;
	/** The process of the model ended while it ran. */
	killed(wasStuck: boolean): void;
}

interface QueueOptions {
	task: EngineTask;
	/** Resolves with a process that has loaded the model. */
	process(): Promise<ModelProcess>;
	events: QueueEvents;
}

export class ModelQueue {
	readonly #options: QueueOptions;
	#waiting: Waiting[] = [];
	#running: Waiting[] = [];
	/** Ends the running generation. */
	#cancelRun: (() => void) | undefined;

	constructor(options: QueueOptions) {
		this.#options = options;
	}

	get length(): number {
		return this.#waiting.length + this.#running.length;
	}

	get isIdle(): boolean {
		return this.length === 0;
	}

	/** One result for each item, in order. */
	run(items: readonly Item[], signal: AbortSignal): Promise<Result[]> {
		if (this.length + items.length > MAX_WAITING_ITEMS)
			throw new EngineFailure(
				"engine_unavailable",
				`${this.length} texts, images or recordings wait for this model: try again later`,
			);
		const added: Waiting[] = [];
		const results = items.map(
			(item) =>
				new Promise<Result>((resolve, reject) => {
					added.push({ item, tokens: tokensOf(item), runs: 0, isCancelled: false, resolve, reject });
				}),
		);
		this.#waiting.push(...added);
		const leave = (): void => this.#cancel(added);
		if (signal.aborted) leave();
		else signal.addEventListener("abort", leave, { once: true });
		this.#next();
		return Promise.all(results).finally(() => signal.removeEventListener("abort", leave));
	}

	#cancel(added: readonly Waiting[]): void {
		for (const one of added) one.isCancelled = true;
		this.#waiting = this.#waiting.filter((one) => !one.isCancelled);
		for (const one of added) one.reject(new EngineFailure("cancelled", "The caller has left"));
		if (this.#running.length > 0 && this.#running.every((one) => one.isCancelled)) this.#cancelRun?.();
	}

	#next(): void {
		if (this.#running.length > 0 || this.#waiting.length === 0) return;
		const { task, events } = this.#options;
		// Texts of about one length need little padding.
		if (BATCHED.has(task)) this.#waiting = inOrderOfLength(this.#waiting);
		const batch = this.#waiting.splice(0, batchLength(this.#waiting, task));
		this.#running = batch;
		events.batch(batch.length);
		this.#runBatch(batch)
			.catch((error: unknown) => this.#fail(batch, error))
			.finally(() => {
				this.#running = [];
				this.#cancelRun = undefined;
				this.#next();
			});
	}

	async #runBatch(batch: Waiting[]): Promise<void> {
		const process = await this.#options.process();
		if (batch.every((one) => one.isCancelled)) return;
		const results = await process.run(
			batch.map(({ item }) => item),
			(cancel) => {
				this.#cancelRun = cancel;
			},
		);
		for (const [index, one] of batch.entries()) {
			const { refusal, ...result } = results[index] ?? {};
			if (refusal === undefined) one.resolve(result);
			else one.reject(new EngineFailure("invalid_input", refusal));
		}
	}

	#fail(batch: Waiting[], error: unknown): void {
		const hasEnded = error instanceof ProcessEnded;
		if (hasEnded) this.#options.events.killed(error.wasStuck);
		for (const one of batch) {
			one.runs += 1;
			// What makes a process stuck would do it again.
			if (hasEnded && !error.wasStuck && one.runs < MAX_RUNS && !one.isCancelled) this.#waiting.unshift(one);
			else if (hasEnded) one.reject(new EngineFailure("engine_unavailable", error.message));
			else one.reject(error instanceof Error ? error : new Error(String(error)));
		}
	}
}

/** The first request stays first, so that none waits forever; those of about its length follow. */
function inOrderOfLength(waiting: readonly Waiting[]): Waiting[] {
	const [first, ...others] = waiting;
	if (!first) return [];
	const distance = ({ tokens }: Waiting): number => Math.abs(tokens - first.tokens);
	return [first, ...others.sort((a, b) => distance(a) - distance(b))];
}
