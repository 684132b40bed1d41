/** Starts the lines of a batch as the pace allows, and stores their ends in groups. */
import { toAiError } from "../../core/errors.ts";
import { PostponedWork } from "../../storage/queue/work.ts";
import type { JobsServices } from "../services.ts";
import { untilHours } from "./hours.ts";
import type { LineBody, LineReader } from "./line-reader.ts";
import type { BatchWait, ClaimedLine, ExchangedLines, LineEnd } from "./records.ts";
import type { FinishedLine, LineContext } from "./run-line.ts";

/** A run ends after this time, or after so many lines, and the next one continues: the platform bounds the calls of a request. */
const SHIFT_MS = 5 * 60_000;
const SHIFT_LINES = 400;
/** Ends of lines that arrive in this time share a commit. */
const COMMIT_MS = 20;
/** Lines that are claimed, or whose ends are stored, at once. */
const GROUP_LINES = 32;
/** Of the results of one call. */
const MAX_CHARACTERS = 4_000_000;
/** While other batches of the process use the pace, or the storage fails. */
const BUSY_MS = 1_000;

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
	readonly #end: number;
	/** Claimed, and not started. */
	#ready: ClaimedLine[] = [];
	/** Not stored. */
	#ended: LineEnd[] = [];
	#running = 0;
	#started = 0;
	/** Why no further line starts. */
	#wait: BatchWait | undefined;
	#isStopping = false;
	/** After a call that claimed none: when the next line may start, or that none waits. */
	#rest: Pick<ExchangedLines, "nextAt"> | undefined;
	#change = Promise.withResolvers<void>();

	constructor(context: Pick<LineContext, "record" | "signal">, calls: DrainCalls) {
		this.#context = context;
		this.#calls = calls;
		this.#model = context.record.model ?? "";
		this.#end = calls.services.now() + SHIFT_MS;
	}

	/** Resolves when no line waits or runs. Throws `PostponedWork` if lines must wait. */
	async run(): Promise<void> {
		for (;;) {
			const delay = this.#delay();
			const mayStart = delay === undefined && !this.#isStopping;
			if (mayStart) await this.#start();
			else this.#giveBack();
			if (this.#running > 0 && !this.#mustExchange(mayStart)) {
				await this.#next();
				continue;
			}
			if (this.#ended.length > 0 || (mayStart && this.#mayClaim)) {
				await this.#exchange(mayStart ? GROUP_LINES : 0);
				continue;
			}
			if (this.#isStopping) return;
			if (delay !== undefined) throw this.#postponed(delay);
			if (this.#ready.length > 0 || this.#free === 0) throw this.#postponed(this.#pause);
			const nextAt = this.#rest?.nextAt;
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
		return now() >= this.#end || this.#started >= SHIFT_LINES ? 0 : undefined;
	}

	get #free(): number {
		const { jobPace, jobSettings } = this.#calls.services;
		return jobPace.free(this.#model, jobSettings);
	}

	get #pause(): number {
		return this.#calls.services.jobPace.pause(this.#model) || BUSY_MS;
	}

	/** Whether there may be lines to claim. */
	get #mayClaim(): boolean {
		return this.#ready.length === 0 && this.#free > 0 && !this.#rest;
	}

	/** While lines run: whether ends are stored now. */
	#mustExchange(mayStart: boolean): boolean {
		if (this.#ended.length >= GROUP_LINES || charactersOf(this.#ended) >= MAX_CHARACTERS) return true;
		return this.#ended.length > 0 ? this.#ready.length === 0 : mayStart && this.#mayClaim;
	}

	/** Starts lines that were claimed. */
	async #start(): Promise<void> {
		const { jobPace, wait } = this.#calls.services;
		for (let free = this.#free; free > 0; free--) {
			const claimed = this.#ready.shift();
			if (!claimed) return;
			this.#running++;
			this.#started++;
			void this.#line(claimed).then(({ end, wait: until }) => {
				this.#running--;
				this.#ended.push(end);
				if (until) this.#wait = until;
				this.#change.resolve();
			});
			const gap = jobPace.gap();
			if (gap === 0) continue;
			await wait(gap);
			// Meanwhile a line may have been refused, or other batches may have started lines.
			if (this.#wait || this.#free === 0 || this.#context.signal.aborted) return;
		}
	}

	async #line(claimed: ClaimedLine): Promise<FinishedLine> {
		const { line, ticket } = claimed;
		try {
			return await this.#calls.runLine(claimed, await this.#calls.reader.body(claimed));
		} catch (thrown) {
			// Of the storage.
			const { code, description } = toAiError(thrown);
			const until = this.#calls.services.now() + BUSY_MS;
			return {
				end: { line, ticket, settlements: [], outcome: { kind: "again", startAt: until, counts: false } },
				wait: { code, message: description, until },
			};
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

	async #exchange(wanted: number): Promise<void> {
		const ended = this.#endedTogether();
		const claim = this.#ready.length === 0 ? wanted : 0;
		// A batch that waited waits until a line has an answer.
		const isAnswered = ended.some(({ outcome }) => outcome.kind !== "again");
		const waiting = this.#wait ?? (isAnswered ? null : undefined);
		const { lines, isStopping, nextAt } = await this.#calls.exchange(ended, claim, waiting);
		this.#isStopping = isStopping;
		if (claim > 0) this.#rest = lines.length > 0 ? undefined : { ...(nextAt !== undefined && { nextAt }) };
		this.#ready.push(...lines);
		if (lines.length > 0) await this.#calls.reader.load(lines);
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

	/** Resolves soon after the end of a line, so that several ends share a commit, and the admissions of the next lines another. */
	async #next(): Promise<void> {
		await this.#change.promise;
		this.#change = Promise.withResolvers();
		if (this.#running > 0) await this.#calls.services.wait(COMMIT_MS);
	}

	/** Not longer than the batch lives. */
	#postponed(milliseconds: number): PostponedWork {
		const left = this.#context.record.expiresAt - this.#calls.services.now();
		return new PostponedWork(Math.max(0, Math.min(milliseconds, left)));
	}
}
