/**
 * How many lines run at the same time in this process, by backend. Lines take what live requests leave: their number grows by one for each
 * round of answers, and is halved when the backend refuses work or when the first tokens of live requests come later than before.
 * Before the first answer of a model its backend is not known: then the model has a pace of its own. A process has one thread: beside live
 * requests lines call their backends one after another, with a gap, which is as long as requests wait while the guard finds the runtime behind.
 *
 * A line that has started is admitted by its account first, then it takes a place. Lines that are fast start before they find a place, so
 * that no place is empty while the account admits the next ones.
 */
import { BoundedMap } from "../../core/bounded-map.ts";
import { AiError } from "../../core/errors.ts";
import { type Hold, HoldOwner } from "../../core/process-counts.ts";
import { RuntimeDelay } from "../../core/runtime-delay.ts";
import { settledElsewhere } from "../../core/settled-elsewhere.ts";
import type { ExchangeObserver } from "../../telemetry/exchange-observer.ts";
import { AVERAGE_OF, addTime, type BackendLane, type LineTurn, turnOf, wakeNext } from "./pace-lane.ts";
import { type JobSettings, jobsOf } from "./settings.ts";
import { SpacedTimes } from "./spaced-times.ts";

const FIRST_LINES = 4;
/** After a refusal, or late first tokens. */
const PAUSE_MS = 2_000;
/** Of the average time to the first token. Live requests above this part of the time without lines are late. */
const LATE = 1.5;
/** A difference below it is no sign of load. */
const LATE_MS = 50;
/** Between two lines that take a place, beside live requests. */
const GAP_MS = 20;
const MAX_PLACE_WAIT_MS = 10_000;
/** After a live request others are expected for so many times their average distance. */
const LIVE_DISTANCES = 10;
const MIN_LIVE_MS = 100;
const MAX_LIVE_MS = 1_000;
/** Lines start so long before they find a place. */
const AHEAD_MS = 100;
const MAX_AHEAD = 64;
/** Lines that are claimed, or whose ends are stored, at once. Beside live requests fewer, because these wait meanwhile. */
const GROUP_LINES = 64;
const LIVE_GROUP_LINES = 16;
const LIVE_PAUSE_MS = 5;
/** Admissions wait so long for others that share their call. */
const GATHER_MS = 30;
const LIVE_GATHER_MS = 200;
/** A line that waits for a place looks again after this time: the limit may be higher, and a line that was woken may be lost with its run. */
const PLACE_MS = 1_000;
/** Only after so many requests is the time known. */
const MIN_SAMPLES = 5;
const MAX_KEYS = 1_000;
/** A batch without a place tries again after this time. */
const BUSY_MS = 1_000;
/** Between two batches that try again. Each try costs commits. */
const RETRY_GAP_MS = 100;
const MAX_RETRY_MS = 5 * 60_000;

/** Times to the first token of live requests. */
interface LiveTimes {
	/** While no line runs. */
	quiet: { average: number; count: number };
	/** While lines run. */
	beside: { average: number; count: number };
}

type Wait = (milliseconds: number) => Promise<void>;

export interface LinePlace {
	/** Resolves when the line may call its backend. Rejects with 3040 if the line was lost with its run: another run has it. */
	take(wait: Wait): Promise<void>;
	/** The line has ended. `backend`: empty if none has answered. */
	end(end: { backend: string; isBusy: boolean }): void;
}

export class Pace {
	readonly #now: () => number;
	readonly #runningRequests: () => number;
	readonly #runtimeDelay: RuntimeDelay;
	readonly #lanes = new BoundedMap<string, BackendLane>(MAX_KEYS);
	/** The backend that has answered a model the last time. */
	readonly #backends = new BoundedMap<string, string>(MAX_KEYS);
	readonly #live = new BoundedMap<string, LiveTimes>(MAX_KEYS);
	/** Tickets of lines, whose times are not those of live requests. */
	readonly #lines = new Set<string>();
	/** When a live request was under way the last time. Epoch milliseconds, as the next one. */
	#liveAt = Number.NEGATIVE_INFINITY;
	#liveEndedAt = Number.NEGATIVE_INFINITY;
	/** Average distance of the ends of live requests. Milliseconds. */
	#liveDistance = MAX_LIVE_MS;
	/** Of lines that take a place beside live requests. */
	readonly #places = new SpacedTimes({
		gapMs: () => this.#runtimeDelay.pause(GAP_MS),
		maxMs: MAX_PLACE_WAIT_MS,
	});
	/** Of batches without a place that try again. */
	readonly #retries = new SpacedTimes({ gapMs: () => RETRY_GAP_MS, maxMs: MAX_RETRY_MS });

	/** `now`: epoch milliseconds. `running`: requests of the process, with lines. */
	constructor(now: () => number, running = (): number => 0, runtimeDelay = new RuntimeDelay(now)) {
		this.#now = now;
		this.#runningRequests = running;
		this.#runtimeDelay = runtimeDelay;
	}

	/** Lines of the model that may start now. */
	free(model: string, settings: JobSettings): number {
		const key = this.#keyOf(model);
		const lane = this.#lane(key);
		if (this.#pauseOf(lane) > 0) return 0;
		const limit = this.#limitOf(lane, key, settings);
		return Math.max(0, limit + this.#aheadOf(lane, limit) - lane.running);
	}

	/** Milliseconds of the pause after a refusal. */
	pause(model: string): number {
		return this.#pauseOf(this.#lane(this.#keyOf(model)));
	}

	/** Milliseconds before a batch without a place tries again. The batches of the process do this one after the other, however many wait. */
	retryDelay(model: string): number {
		return this.#retries.next(this.#now(), this.pause(model) || BUSY_MS);
	}

	/** How long an admission waits for others. */
	get gatherMs(): number {
		return this.isLive ? LIVE_GATHER_MS : GATHER_MS;
	}

	/** Lines that are claimed, or whose ends are stored, at once. */
	get groupLines(): number {
		return this.isLive ? LIVE_GROUP_LINES : GROUP_LINES;
	}

	/** Beside live requests waits between two calls of an object, so that the process handles what has arrived. */
	async giveWay(wait: Wait): Promise<void> {
		if (this.isLive) await wait(this.#runtimeDelay.pause(LIVE_PAUSE_MS));
	}

	/** A live request is under way, waits outside of a runtime that is behind, or is expected. */
	get isLive(): boolean {
		const now = this.#now();
		// Some lines do not count any more, or not yet.
		if (this.#runningRequests() > this.#lines.size) this.#liveAt = now;
		const since = now - this.#liveAt;
		const expected = Math.min(MAX_LIVE_MS, Math.max(MIN_LIVE_MS, this.#liveDistance * LIVE_DISTANCES));
		// The clock may be set back.
		return this.#runtimeDelay.isBehind || (since >= 0 && since <= expected);
	}

	/** A line starts. */
	start(model: string, ticket: string, settings: JobSettings): LinePlace {
		const key = this.#keyOf(model);
		const lane = this.#lane(key);
		lane.running++;
		this.#lines.add(ticket);
		let placedAt: number | undefined;
		const owner = HoldOwner.present;
		let hasLeft = false;
		let turn: LineTurn | undefined;
		/** Returns false if the line was lost with its run before. */
		const leave = (): boolean => {
			if (hasLeft) return false;
			hasLeft = true;
			owner?.delete(hold);
			this.#lines.delete(ticket);
			lane.running--;
			if (placedAt !== undefined) lane.placed--;
			if (turn) lane.waiting.delete(turn);
			// Also after a line that was woken, and lost before it had its place.
			if (lane.placed < this.#limitOf(lane, key, settings)) wakeNext(lane);
			return true;
		};
		const hold: Hold = { release: leave };
		owner?.add(hold);
		return {
			take: async (wait) => {
				const delay = this.#delay();
				if (delay > 0) await wait(delay);
				while (!hasLeft) {
					const pause = this.#pauseOf(lane);
					if (pause > 0) await wait(pause);
					else if (lane.placed < this.#limitOf(lane, key, settings)) {
						lane.placed++;
						placedAt = this.#now();
						return;
					} else {
						turn = settledElsewhere();
						await turnOf(lane, turn, wait(PLACE_MS));
					}
				}
				throw new AiError("outOfCapacity");
			},
			end: ({ backend, isBusy }) => {
				if (!leave()) return;
				// The clock may be set back.
				if (placedAt !== undefined) addTime(lane, Math.max(1, this.#now() - placedAt));
				if (backend !== "") this.#backends.set(model, backend);
				if (isBusy) this.#slowDown(lane);
				else if (++lane.answered >= lane.limit) {
					lane.answered = 0;
					lane.limit = Math.min(lane.limit + 1, jobsOf(settings, key).concurrency);
				}
			},
		};
	}

	/** Milliseconds before a line may take a place, because of live requests. The next line waits longer. */
	#delay(): number {
		return this.isLive ? this.#places.next(this.#now()) : 0;
	}

	#limitOf(lane: BackendLane, key: string, settings: JobSettings): number {
		return Math.min(lane.limit, jobsOf(settings, key).concurrency);
	}

	/** Lines that start before they find a place. */
	#aheadOf({ placeMs }: BackendLane, limit: number): number {
		if (placeMs === 0) return 0;
		const perMs = this.isLive
			? Math.min(limit / placeMs, 1 / this.#runtimeDelay.pause(GAP_MS))
			: limit / placeMs;
		return Math.min(MAX_AHEAD, Math.floor(perMs * AHEAD_MS));
	}

	/** Watches live requests. */
	get observer(): ExchangeObserver {
		return {
			settled: ({ id }, { settlement: { backend, firstTokenMs, outcome } }) => {
				if (this.#lines.has(id)) return;
				const now = this.#now();
				const distance = Math.min(MAX_LIVE_MS, Math.max(0, now - this.#liveEndedAt));
				this.#liveDistance += (distance - this.#liveDistance) / AVERAGE_OF;
				this.#liveEndedAt = this.#liveAt = now;
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

	#slowDown(lane: BackendLane): void {
		// One decision for all lines that were under way.
		if (this.#pauseOf(lane) > 0) return;
		lane.limit = Math.max(1, Math.floor(lane.limit / 2));
		lane.answered = 0;
		lane.pausedUntil = this.#now() + PAUSE_MS;
	}

	/** Not longer than a pause: the clock may be set back. */
	#pauseOf({ pausedUntil }: BackendLane): number {
		const left = pausedUntil - this.#now();
		return left > PAUSE_MS ? 0 : Math.max(0, left);
	}

	#keyOf(model: string): string {
		return this.#backends.get(model) ?? `model ${model}`;
	}

	#lane(key: string): BackendLane {
		let lane = this.#lanes.get(key);
		if (!lane) {
			lane = {
				limit: FIRST_LINES,
				running: 0,
				placed: 0,
				waiting: new Set(),
				placeMs: 0,
				answered: 0,
				pausedUntil: 0,
			};
			this.#lanes.set(key, lane);
		}
		return lane;
	}
}
