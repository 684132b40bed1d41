/**
 * The models of the engine. A model is loaded by its first request. If the memory does not suffice, the model that was used the longest
 * time ago is unloaded, as soon as no request needs it.
 */
import { EngineFailure } from "./failure.ts";
import type { Metrics } from "./metrics.ts";
import type { EngineModel, EngineTask, Item, Result } from "./model.ts";
import { ModelProcess, ProcessEnded, type ProcessLimits } from "./model-process.ts";
import { ModelQueue } from "./model-queue.ts";

export interface PoolLimits extends ProcessLimits {
	/** Bytes for all loaded models. */
	memory: number;
	/** Milliseconds after which a loaded model makes place for one that waits, although it has more requests. */
	turnMs: number;
}

interface Slot {
	model: EngineModel;
	queue: ModelQueue;
	process: ModelProcess | undefined;
	/** Its last load failed. */
	hasFailed: boolean;
	lastUse: number;
	loadedAt: number;
	/** It has more requests, and makes place before their next run. */
	isYielding: boolean;
}

export interface ModelStatus {
	name: string;
	task: EngineTask;
	state: "unloaded" | "loading" | "loaded";
	/** While it loads: from 0 to 1. */
	progress?: number;
	failed?: true;
	memory: number;
	waiting: number;
	pid?: number;
}

export class ModelPool {
	readonly #limits: PoolLimits;
	readonly #metrics: Metrics;
	/** Called with the name of a model and its new state. */
	readonly #changed: (name: string, state: string) => void;
	#slots = new Map<string, Slot>();
	/** Loads one after the other, because each one depends on the memory that the others use. */
	#loading: Promise<unknown> = Promise.resolve();
	/** Called when a model has become idle, or has ended. */
	#waitingForMemory: (() => void)[] = [];
	#uses = 0;

	constructor(limits: PoolLimits, metrics: Metrics, changed: (name: string, state: string) => void) {
		this.#limits = limits;
		this.#metrics = metrics;
		this.#changed = changed;
	}

	/** Replaces the models. Loaded ones that stay the same stay loaded. */
	setModels(models: readonly EngineModel[]): void {
		const before = this.#slots;
		this.#slots = new Map(
			models.map((model) => {
				const slot = before.get(model.name);
				const isSame = slot && JSON.stringify(slot.model) === JSON.stringify(model);
				return [model.name, isSame ? slot : this.#slotOf(model)];
			}),
		);
		for (const [name, slot] of before) if (this.#slots.get(name) !== slot) slot.process?.kill();
	}

	/** Throws for a model that is missing or has another task. Without a name: the only model of the task. */
	async run(
		name: string | undefined,
		task: EngineTask,
		items: readonly Item[],
		signal: AbortSignal,
	): Promise<{ model: string; results: Result[] }> {
		const slot = this.#find(name, task);
		const started = performance.now();
		try {
			const results = await slot.queue.run(items, signal);
			this.#metrics.answered(slot.model.name, items.length, performance.now() - started);
			return { model: slot.model.name, results };
		} catch (error) {
			this.#metrics.failed(slot.model.name, error instanceof EngineFailure ? error.code : "internal");
			throw error;
		} finally {
			slot.lastUse = ++this.#uses;
			this.#wakeLoads();
		}
	}

	async load(name: string): Promise<void> {
		try {
			await this.#processOf(this.#named(name));
		} catch (error) {
			throw error instanceof ProcessEnded ? new EngineFailure("engine_unavailable", error.message) : error;
		}
	}

	unload(name: string): void {
		this.#named(name).process?.kill();
	}

	status(): ModelStatus[] {
		return [...this.#slots.values()].map(({ model, process, hasFailed, queue }) => ({
			...{ name: model.name, task: model.task, memory: model.memory, waiting: queue.length },
			state: !process ? "unloaded" : process.loadedPart < 1 ? "loading" : "loaded",
			...(process && { pid: process.pid, ...(process.loadedPart < 1 && { progress: process.loadedPart }) }),
			...(hasFailed && { failed: true as const }),
		}));
	}

	close(): void {
		for (const { process } of this.#slots.values()) process?.kill();
	}

	#slotOf(model: EngineModel): Slot {
		const slot: Slot = {
			...{ model, process: undefined, hasFailed: false, lastUse: 0, loadedAt: 0, isYielding: false },
			queue: new ModelQueue({
				task: model.task,
				process: () => this.#processForRun(slot),
				events: {
					batch: (items) => this.#metrics.batch(model.name, items),
					killed: (wasStuck) => this.#metrics.ended(model.name, wasStuck),
				},
			}),
		};
		return slot;
	}

	#named(name: string): Slot {
		const slot = this.#slots.get(name);
		if (slot) return slot;
		throw new EngineFailure("model_missing", `The engine has no model '${name.slice(0, 100)}'`);
	}

	#find(name: string | undefined, task: EngineTask): Slot {
		const candidates = [...this.#slots.values()].filter(({ model }) => model.task === task);
		const slot = name === undefined && candidates.length === 1 ? candidates[0] : undefined;
		if (slot) return slot;
		if (name === undefined)
			throw new EngineFailure(
				"invalid_input",
				`model: expected a name, because ${candidates.length} models have this task`,
			);
		const named = this.#named(name);
		if (named.model.task === task) return named;
		throw new EngineFailure("task_unsupported", `${name} has the task ${named.model.task}, not ${task}`);
	}

	/** A model with many requests takes turns with one that waits for its memory. */
	async #processForRun(slot: Slot): Promise<ModelProcess> {
		const isOver = performance.now() - slot.loadedAt >= this.#limits.turnMs;
		if (slot.process && isOver && this.#waitingForMemory.length > 0) {
			slot.isYielding = true;
			this.#wakeLoads();
			await this.#loading;
			slot.isYielding = false;
		}
		return this.#processOf(slot);
	}

	async #processOf(slot: Slot): Promise<ModelProcess> {
		const running = slot.process;
		if (running) {
			await running.ready;
			if (slot.process === running) return running;
		}
		const loading = this.#loading.then(() => this.#start(slot));
		this.#loading = loading.catch(() => {});
		return loading;
	}

	async #start(slot: Slot): Promise<ModelProcess> {
		if (slot.process) return slot.process.ready.then(() => slot.process ?? this.#start(slot));
		await this.#makeRoom(slot);
		const started = new ModelProcess(slot.model, this.#limits);
		slot.process = started;
		const { name } = slot.model;
		this.#changed(name, "loading");
		void started.ended.then(() => {
			if (slot.process === started) slot.process = undefined;
			this.#changed(name, `unloaded${started.loadedPart < 1 ? ", because it failed" : ""}`);
			this.#wakeLoads();
		});
		try {
			await started.ready;
			slot.hasFailed = false;
			slot.loadedAt = performance.now();
			this.#metrics.loaded(name);
			this.#changed(name, "loaded");
			return started;
		} catch (error) {
			slot.hasFailed = true;
			await started.ended;
			throw error;
		}
	}

	async #makeRoom({ model }: Slot): Promise<void> {
		const { memory } = this.#limits;
		if (model.memory > memory)
			throw new EngineFailure(
				"no_room",
				`${model.name} needs about ${megabytes(model.memory)} of memory, and models have ${megabytes(memory)}: use a smaller model`,
			);
		for (;;) {
			const loaded = [...this.#slots.values()].filter(({ process }) => process);
			const used = loaded.reduce((sum, slot) => sum + slot.model.memory, 0);
			if (used + model.memory <= memory) return;
			const [oldest] = loaded
				.filter(({ queue, isYielding }) => queue.isIdle || isYielding)
				.sort((a, b) => a.lastUse - b.lastUse);
			if (oldest?.process) {
				this.#metrics.evicted(oldest.model.name);
				const { ended } = oldest.process;
				oldest.process.kill();
				await ended;
			} else await new Promise<void>((resolve) => this.#waitingForMemory.push(resolve));
		}
	}

	#wakeLoads(): void {
		for (const wake of this.#waitingForMemory.splice(0)) wake();
	}
}

const BYTES_PER_MEGABYTE = 1_000_000;
const megabytes = (bytes: number): string => `${Math.ceil(bytes / BYTES_PER_MEGABYTE)} MB`;
