/**
 * Starts the lines of a batch as the pace allows, and stores their ends in groups. Lines start and end while a group is stored, and lines
 * are claimed before the earlier ones have started, so that no place is empty meanwhile.
 */
import { hasPassed } from "../../core/elapsed.ts";
import { toAiError } from "../../core/errors.ts";
import { PostponedWork } from "../../storage/queue/work.ts";
import type { JobsServices } from "../services.ts";
import { untilHours } from "./hours.ts";
import type { LineBody, LineReader } from "./line-reader.ts";
import type { BatchWait, ClaimedLine, ExchangedLines, LineEnd } from "./records.ts";
import type { FinishedLine, LineContext } from "./run-line.ts";

/** A run ends after this time, or after so many lines, and the next one continues: the platform bounds the calls of a request. */
const SHIFT_MS = 5 * 60_000;
const SHIFT_LINES = 2_000;
/** Ends are stored after this time: a process that is killed loses those that are not. In the same time a cancelled batch is noticed. */
const STORE_MS = 1_000;
/** How often this is checked. */
const TICK_MS = 250;
/** Of the results of one call. */
const MAX_CHARACTERS = 4_000_000;
/** Lines of a replay that run at the same time: each has the contents of a log in memory, also while it waits for its place. */
const REPLAY_LINES = 16;
/** A line is tried again after a failure of the storage. */
const STORAGE_RETRY_MS = 1_000;

interface DrainCalls {
	services: Pick<JobsServices, "jobPace" | "jobSettings" | "now" | "wait">;
	reader: LineReader;
	runLine(claimed: ClaimedLine, body: LineBody): Promise<FinishedLine>;
	/** `waiting`: `null` if the batch does not wait, `undefined` if that is not known. */
	exchange(
		ended: readonly LineEnd[],
		claim: number,
		waiting: BatchWait | null | undefined,
	): Promise<ExchangedLines>;
}

const charactersOf = (ended: readonly LineEnd[]): number =>
	ended.reduce((sum, { outcome }) => sum + ("text" in outcome ? outcome.text.length : 0), 0);

export class Drain {
	readonly #context: Pick<LineContext, "record" | "signal">;
	readonly #calls: DrainCalls;
	readonly #model: string;
	readonly #startedAt: number;
	/** Claimed, and not started. */
	#ready: ClaimedLine[] = [];
	/** Not stored. */
	#ended: LineEnd[] = [];
	#running = 0;
	/** Of those that run: the pace does not count them yet. */
	#starting = 0;
	#started = 0;
	/** Why no further line starts. */
	#wait: BatchWait | undefined;
	#isStopping = false;
	/** After a call that claimed none: when the next line may start, or that none waits. `undefined`: lines may wait. */
	#rest: Pick<ExchangedLines, "nextAt"> | undefined;
	#isExchanging = false;
	/** The start of the latest exchange that stored ends. Epoch milliseconds. */
	#exchangedAt: number;
	/** An exchange has failed. */
	#failure: { error: unknown } | undefined;
	#change = Promise.withResolvers<void>();
	/** A timer will report a change. */
	#isTimed = false;

	constructor(context: Pick<LineContext, "record" | "signal">, calls: DrainCalls) {
		this.#context = context;
		this.#calls = calls;
		this.#model = context.record.model ?? "";
		this.#startedAt = this.#exchangedAt = calls.services.now();
	}

	/** Resolves when no line waits or runs. Throws `PostponedWork` if lines must wait. */
	async run(): Promise<void> {
		for (;;) {
			const delay = this.#delay();
			const mayStart = delay === undefined && !this.#isStopping;
			if (mayStart) this.#start();
			// Lines that are given back are not claimed again at once: that would repeat as long as other batches use the pace.
			const mayClaim = mayStart && (this.#running > 0 || this.#free > 0);
			if (!mayClaim) this.#giveBack();
			if (!this.#isExchanging && this.#mustExchange(mayClaim)) void this.#exchange(mayClaim);
			if (this.#running > 0 || this.#isExchanging || this.#ready.length > 0) {
				await this.#next();
				if (this.#failure) throw this.#failure.error;
				continue;
			}
			if (this.#isStopping) return;
			if (delay !== undefined) throw this.#postponed(delay);
			if (this.#free <= 0) throw this.#postponed(this.#calls.services.jobPace.retryDelay(this.#model));
			// Places have become free.
			if (!this.#rest) continue;
			const { nextAt } = this.#rest;
			if (nextAt === undefined) return;
			throw this.#postponed(nextAt - this.#calls.services.now());
		}
	}

	/** Milliseconds for which no line may start. `undefined`: lines may start. */
	#delay(): number | undefined {
		const { jobSettings, now } = this.#calls.services;
		const { signal } = this.#context;
		if (signal.aborted) return 0;
		if (this.#wait) return Math.max(0, this.#wait.until - now());
		const closed = untilHours(jobSettings, now());
		if (closed > 0) return closed;
		const isOver = hasPassed(SHIFT_MS, this.#startedAt, now()) || this.#started >= SHIFT_LINES;
		return isOver ? 0 : undefined;
	}

	get #free(): number {
		const { jobPace, jobSettings } = this.#calls.services;
		const free = jobPace.free(this.#model, jobSettings) - this.#starting;
		if (this.#context.record.api !== "replay") return free;
		return Math.min(free, REPLAY_LINES - this.#running);
	}

	/** Whether lines are claimed by a call of their own. */
	get #mayClaim(): boolean {
		const { jobPace, now } = this.#calls.services;
		// Half a group waits to start.
		if (this.#ready.length > jobPace.groupLines / 2) return false;
		// A place becomes free when a line ends, but not in a pause.
		if (this.#free <= 0 && (this.#running === 0 || jobPace.pause(this.#model) > 0)) return false;
		return !this.#rest || (this.#rest.nextAt !== undefined && this.#rest.nextAt <= now());
	}

	#mustExchange(mayStart: boolean): boolean {
		if (mayStart && this.#mayClaim) return true;
		const { groupLines } = this.#calls.services.jobPace;
		if (this.#ended.length >= groupLines || charactersOf(this.#ended) >= MAX_CHARACTERS) return true;
		if (this.#running === 0) return this.#ended.length > 0;
		return hasPassed(STORE_MS, this.#exchangedAt, this.#calls.services.now());
	}

	/** Starts lines that were claimed. */
	#start(): void {
		// They are in memory.
		if (charactersOf(this.#ended) >= MAX_CHARACTERS) return;
		for (let free = this.#free; free > 0 && this.#ready.length > 0; free--) {
			const claimed = this.#ready.shift();
			if (!claimed) break;
			this.#running++;
			this.#started++;
			void this.#line(claimed).then(({ end, wait: until }) => {
				this.#running--;
				this.#ended.push(end);
				if (until) this.#wait = until;
				this.#change.resolve();
			});
		}
	}

	async #line(claimed: ClaimedLine): Promise<FinishedLine> {
		const { line, ticket } = claimed;
		try {
			return await this.#calls.runLine(claimed, await this.#body(claimed));
		} catch (thrown) {
			// Of the storage.
			const { code, description } = toAiError(thrown);
			const until = this.#calls.services.now() + STORAGE_RETRY_MS;
			return {
				end: { line, ticket, settlements: [], outcome: { kind: "again", startAt: until, counts: false } },
				wait: { code, message: description, until },
			};
		}
	}

	async #body(claimed: ClaimedLine): Promise<LineBody> {
		this.#starting++;
		try {
			return await this.#calls.reader.body(claimed);
		} finally {
			this.#starting--;
		}
	}

	/** Lines that were claimed and do not start. */
	#giveBack(): void {
		for (const { line, ticket } of this.#ready)
			this.#ended.push({
				line,
				ticket,
				settlements: [],
				outcome: { kind: "again", startAt: 0, counts: false },
			});
		this.#ready = [];
	}

	/** Never rejects. */
	async #exchange(mayStart: boolean): Promise<void> {
		const { jobPace, now, wait } = this.#calls.services;
		this.#isExchanging = true;
		try {
			await jobPace.giveWay(wait);
			const { groupLines, isLive } = jobPace;
			const isLow = this.#ready.length <= Math.max(groupLines / 2, this.#ended.length);
			const claim = mayStart && isLow ? groupLines : 0;
			// Beside live requests each call is short: it stores ends, or claims lines.
			const isClaim = isLive && claim > 0 && this.#mayClaim && this.#ended.length < groupLines;
			if (!isClaim) this.#exchangedAt = now();
			const ended = isClaim ? [] : this.#endedTogether();
			await this.#store(ended, isLive && ended.length > 0 ? 0 : claim);
		} catch (error) {
			this.#failure = { error };
		}
		this.#isExchanging = false;
		this.#change.resolve();
	}

	async #store(ended: readonly LineEnd[], claim: number): Promise<void> {
		const { jobPace, wait } = this.#calls.services;
		// A batch that waited waits until a line has an answer.
		const isAnswered = ended.some(({ outcome }) => outcome.kind !== "again");
		const waiting = this.#wait ?? (isAnswered ? null : undefined);
		const { lines, isStopping, nextAt } = await this.#calls.exchange(ended, claim, waiting);
		this.#isStopping = isStopping;
		if (claim > 0) this.#rest = lines.length > 0 ? undefined : { ...(nextAt !== undefined && { nextAt }) };
		else if (ended.some(({ outcome }) => outcome.kind === "again")) this.#rest = undefined;
		if (lines.length > 0) {
			await jobPace.giveWay(wait);
			await this.#calls.reader.load(lines);
		}
		this.#ready.push(...lines);
	}

	/** The ends for one call, which has a bound of bytes. */
	#endedTogether(): LineEnd[] {
		let characters = 0;
		const end = this.#ended.findIndex(({ outcome }, index) => {
			characters += "text" in outcome ? outcome.text.length : 0;
			return index > 0 && characters > MAX_CHARACTERS;
		});
		return this.#ended.splice(0, end < 0 ? this.#ended.length : end);
	}

	/** Resolves when a line or an exchange has ended, at the latest after `TICK_MS`. */
	async #next(): Promise<void> {
		if (!this.#isTimed) {
			this.#isTimed = true;
			void this.#calls.services.wait(TICK_MS).then(() => {
				this.#isTimed = false;
				this.#change.resolve();
			});
		}
		await this.#change.promise;
		this.#change = Promise.withResolvers();
	}

	/** Not longer than the batch lives. */
	#postponed(milliseconds: number): PostponedWork {
		const left = this.#context.record.expiresAt - this.#calls.services.now();
		return new PostponedWork(Math.max(0, Math.min(milliseconds, left)));
	}
}
