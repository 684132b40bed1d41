/**
 * Which models the requests of each hour need, for pools that load models in advance (`preload`). Isolates report the first
 * request of each hour; the `Fleet` object keeps the hours of the last days, and loads the models of the next hour.
 */
import type { TaskName } from "../tasks/task.ts";

export interface ModelDemand {
	backend: string;
	/** Id of the catalogue. */
	model: string;
	task: TaskName;
}

/** Days of which the hours are kept. */
export const DEMAND_DAYS = 7;
/** Of these days, a model was used at this hour on so many. A model that was used once is not loaded every day. */
export const MIN_DAYS = 2;
/** Models are loaded this long before the hour: large ones take minutes. */
const LEAD_MS = 5 * 60_000;

const HOUR_MS = 3_600_000;
/** Pairs of a backend and a model in one hour. */
const MAX_MODELS = 1_000;

/** Hours since 1970, UTC. */
export const hourOf = (now: number): number => Math.floor(now / HOUR_MS);

/** The next time at which models are loaded. */
export const nextPreloadAt = (now: number): number => (hourOf(now + LEAD_MS) + 1) * HOUR_MS - LEAD_MS;

/** The hour whose models are loaded at `now`, which is a little before it, or later if the object was not running. */
export const preloadedHour = (now: number): number => hourOf(now + LEAD_MS);

interface DemandServices {
	now(): number;
	waitUntil(work: Promise<unknown>): void;
	/** Calls the `Fleet` object. */
	report(demand: ModelDemand): Promise<void>;
}

/** The demand that this isolate has reported. */
export class DemandReports {
	readonly #services: DemandServices;
	#hour = 0;
	readonly #reported = new Set<string>();

	constructor(services: DemandServices) {
		this.#services = services;
	}

	/** A request for the model has arrived. Reports the first one of each hour, in the background. */
	add(demand: ModelDemand): void {
		const { now, report, waitUntil } = this.#services;
		const hour = hourOf(now());
		if (hour !== this.#hour) this.#reported.clear();
		this.#hour = hour;
		const key = `${demand.backend} ${demand.task} ${demand.model}`;
		if (this.#reported.has(key) || this.#reported.size >= MAX_MODELS) return;
		this.#reported.add(key);
		// A lost report costs at most one preload.
		waitUntil(report(demand).catch(() => this.#reported.delete(key)));
	}
}
