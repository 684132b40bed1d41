/**
 * How many lines run at the same time in this process, by backend. Lines take what live requests leave: their number grows by one for each
 * round of answers, and is halved when the backend refuses work or when the first tokens of live requests come later than before.
 * Before the first answer of a model its backend is not known: then the model has a pace of its own. Beside live requests lines start one
 * after another: a process has one thread, and many lines that start, and end, at once would delay those requests.
 */
import { BoundedMap } from "../../core/bounded-map.ts";
import type { ExchangeObserver } from "../../telemetry/exchange-observer.ts";
import { type JobSettings, jobsOf } from "./settings.ts";

const FIRST_LINES = 4;
/** After a refusal, or late first tokens. */
const PAUSE_MS = 2_000;
/** Of the average time to the first token. Live requests above this part of the time without lines are late. */
const LATE = 1.5;
/** A difference below it is no sign of load. */
const LATE_MS = 50;
const AVERAGE_OF = 20;
/** Of two starts, beside live requests. */
const GAP_MS = 4;
/** After the end of a live request others are expected for so long. */
const LIVE_MS = 2_000;
/** Only after so many requests is the time known. */
const MIN_SAMPLES = 5;
const MAX_KEYS = 1_000;

interface Lane {
	limit: number;
	running: number;
	answered: number;
	/** No line starts before. Epoch milliseconds. */
	pausedUntil: number;
}

/** Times to the first token of live requests. */
interface LiveTimes {
	/** While no line runs. */
	quiet: { average: number; count: number };
	/** While lines run. */
	beside: { average: number; count: number };
}

export class Pace {
	readonly #now: () => number;
	readonly #lanes = new BoundedMap<string, Lane>(MAX_KEYS);
	/** The backend that has answered a model the last time. */
	readonly #backends = new BoundedMap<string, string>(MAX_KEYS);
	readonly #live = new BoundedMap<string, LiveTimes>(MAX_KEYS);
	/** Tickets of lines, whose times are not those of live requests. */
	readonly #lines = new Set<string>();
	/** The end of the latest live request. Epoch milliseconds, as the next one. */
	#liveAt = Number.NEGATIVE_INFINITY;
	/** No line starts before, in the process. */
	#nextStart = 0;

	/** `now`: epoch milliseconds. */
	constructor(now: () => number) {
		this.#now = now;
	}

	/** Lines of the model that may start now. */
	free(model: string, settings: JobSettings): number {
		const key = this.#keyOf(model);
		const lane = this.#lane(key);
		const limit = Math.min(lane.limit, jobsOf(settings, key).concurrency);
		return this.#pauseOf(lane) > 0 ? 0 : Math.max(0, limit - lane.running);
	}

	/** Milliseconds of the pause after a refusal. */
	pause(model: string): number {
		return this.#pauseOf(this.#lane(this.#keyOf(model)));
	}

	/** Milliseconds before a line may start. 0: it starts now, and the next one after a pause if there are live requests. */
	gap(): number {
		const now = this.#now();
		const since = now - this.#liveAt;
		if (since < 0 || since > LIVE_MS) return 0;
		const left = this.#nextStart - now;
		// The clock may be set back.
		if (left > 0 && left <= GAP_MS) return left;
		this.#nextStart = now + GAP_MS;
		return 0;
	}

	/** A line starts. Returns what its end calls. `backend`: empty if none has answered. */
	start(
		model: string,
		ticket: string,
		settings: JobSettings,
	): (end: { backend: string; isBusy: boolean }) => void {
		const key = this.#keyOf(model);
		const lane = this.#lane(key);
		lane.running++;
		this.#lines.add(ticket);
		return ({ backend, isBusy }) => {
			lane.running--;
			this.#lines.delete(ticket);
			if (backend !== "") this.#backends.set(model, backend);
			if (isBusy) this.#slowDown(lane);
			else if (++lane.answered >= lane.limit) {
				lane.answered = 0;
				lane.limit = Math.min(lane.limit + 1, jobsOf(settings, key).concurrency);
			}
		};
	}

	/** Watches live requests. */
	get observer(): ExchangeObserver {
		return {
			settled: ({ id }, { settlement: { backend, firstTokenMs, outcome } }) => {
				if (this.#lines.has(id)) return;
				this.#liveAt = this.#now();
				if (firstTokenMs === undefined || outcome !== "ok") return;
				this.#add(backend, firstTokenMs);
			},
		};
	}

	#add(backend: string, milliseconds: number): void {
		const lane = this.#lanes.get(backend);
		const times = this.#live.get(backend) ?? {
			quiet: { average: 0, count: 0 },
			beside: { average: 0, count: 0 },
		};
		this.#live.set(backend, times);
		const kind = lane && lane.running > 0 ? times.beside : times.quiet;
		kind.count = Math.min(kind.count + 1, AVERAGE_OF);
		kind.average += (milliseconds - kind.average) / kind.count;
		const { quiet, beside } = times;
		if (!lane || kind !== beside || beside.count < MIN_SAMPLES || quiet.count < MIN_SAMPLES) return;
		if (beside.average > quiet.average * LATE && beside.average > quiet.average + LATE_MS) {
			beside.count = 0;
			this.#slowDown(lane);
		}
	}

	#slowDown(lane: Lane): void {
		// One decision for all lines that were under way.
		if (this.#pauseOf(lane) > 0) return;
		lane.limit = Math.max(1, Math.floor(lane.limit / 2));
		lane.answered = 0;
		lane.pausedUntil = this.#now() + PAUSE_MS;
	}

	/** Not longer than a pause: the clock may be set back. */
	#pauseOf({ pausedUntil }: Lane): number {
		const left = pausedUntil - this.#now();
		return left > PAUSE_MS ? 0 : Math.max(0, left);
	}

	#keyOf(model: string): string {
		return this.#backends.get(model) ?? `model ${model}`;
	}

	#lane(key: string): Lane {
		let lane = this.#lanes.get(key);
		if (!lane) {
			lane = { limit: FIRST_LINES, running: 0, answered: 0, pausedUntil: 0 };
			this.#lanes.set(key, lane);
		}
		return lane;
	}
}
