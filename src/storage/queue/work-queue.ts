/**
 * The `WorkQueue` object: the durable queue of all accounts (`work.ts`). Its alarm starts the items (`work-entrypoint.ts`). It works in
 * shifts, because the platform ends an alarm after 15 minutes: the next alarm goes on with the items that run.
 */
import { DurableObject } from "cloudflare:workers";
import { hasPassed } from "../../core/elapsed.ts";
import type { FailureKey } from "../../core/errors.ts";
import { type LaneBounds, Lanes } from "./lanes.ts";
import { afterFailure, afterInterruption, endOfRetention, isReady, type WorkOutcome } from "./retry.ts";
import { releaseRuns } from "./run-holds.ts";
import type { WorkCalls } from "./run-work.ts";
import type { NewWork, WorkId, WorkPage, WorkQuery, WorkState, WorkStatus } from "./work.ts";
import { WorkControl } from "./work-control.ts";
import { type LaneCount, type LaneKey, statusOf, type WorkRow, WorkTable } from "./work-table.ts";

/** The object has this name. */
export const QUEUE_NAME = "queue";
const SHIFT_MS = 5 * 60_000;
/** If the process is killed during a shift, the next shift starts this long after the start of the last one, or at the restart. */
const WATCH_MS = 1_000;
/** Until it is asked again whether live requests wait for the process. */
const YIELD_MS = 500;
/** While the process stops. */
const CLOSING_MS = 30_000;
const PROGRESS_MS = 1_000;
/** Between two deletions of dead items. */
const RETENTION_MS = 24 * 3_600_000;

export interface QueueBounds extends LaneBounds {
	/** Items of one account, in all states. */
	accountItems: number;
}

/** What the queue needs of the Worker. */
export interface WorkQueueServices {
	bounds: QueueBounds;
	/** Runs an item (`work-entrypoint.ts`). */
	run: WorkCalls["run"];
	/** The process stops: no item may start. */
	isClosing(): boolean;
	/** The process is behind, and callers wait for it: an account runs one item at a time. */
	isYielding(): boolean;
	/** Delays the stop of the process until the run ends. */
	track(run: Promise<void>): void;
}

type EnqueueResult = { ok: true; added: number } | { ok: false; failure: FailureKey; description: string };

interface Run {
	row: WorkRow;
	/** True: the item was cancelled. */
	cancelled: PromiseWithResolvers<boolean>;
	progressAt: number;
}

export abstract class WorkQueueObject extends DurableObject {
	readonly #table: WorkTable;
	readonly #lanes = new Lanes();
	/** Items, by account. */
	readonly #items = new Map<string, number>();
	/** By item. */
	readonly #runs = new Map<number, Run>();
	#wake = Promise.withResolvers<void>();
	#inShift = false;
	/** The time of the last start. */
	#latest = 0;

	constructor(ctx: DurableObjectState, env: Env) {
		super(ctx, env);
		releaseRuns();
		this.#table = new WorkTable(ctx.storage.sql);
		for (const row of this.#table.running()) {
			if (row.cancelled) this.#table.delete(row.id);
			else this.#table.update(afterInterruption(row, Date.now()));
		}
		for (const { account, kind, state, items } of this.#table.counts()) {
			this.#count(account, items);
			if (state === "queued") this.#lanes.add({ account, kind }, items);
		}
	}

	/** Reads the times of the first items again, after a change of the rows that is not of this class. */
	async refresh(): Promise<void> {
		for (const { account, kind, state, firstAt } of this.#table.counts())
			if (state === "queued") this.#lanes.postpone({ account, kind }, firstAt);
		await this.#schedule();
	}

	/** The Worker's class has them (`index.ts`). */
	protected abstract services(): WorkQueueServices;

	async enqueue(items: readonly NewWork[]): Promise<EnqueueResult> {
		const { accountItems } = this.services().bounds;
		const now = Date.now();
		const added: NewWork[] = [];
		for (const item of items) {
			if (this.#table.find(item)) continue;
			const count = (this.#items.get(item.account) ?? 0) + 1;
			if (count > accountItems) {
				for (const { account, kind, key } of added) this.#forget({ account, kind, key });
				return {
					ok: false,
					failure: "storageFull",
					description: `The account's queue is full: it has at most ${accountItems} items`,
				};
			}
			this.#table.insert(item, now);
			this.#count(item.account, 1);
			this.#lanes.add(item, 1, item.startAt ?? now);
			added.push(item);
		}
		if (added.length > 0) await this.#schedule();
		return { ok: true, added: added.length };
	}

	cancel(id: WorkId): WorkState | undefined {
		const row = this.#table.find(id);
		if (!row) return undefined;
		this.#cancelRow(row);
		return row.state;
	}

	cancelPrefix(range: LaneKey & { prefix: string }): number {
		const { waiting, dead } = this.#table.deleteIdle(range);
		this.#lanes.remove(range, waiting);
		this.#count(range.account, -waiting - dead);
		let running = 0;
		for (const { row } of [...this.#runs.values()]) {
			if (row.account !== range.account || row.kind !== range.kind) continue;
			if (!row.key.startsWith(range.prefix)) continue;
			this.#cancelRow(row);
			running++;
		}
		return waiting + dead + running;
	}

	status(id: WorkId): WorkStatus | undefined {
		const row = this.#table.find(id);
		return row && statusOf(this.#runs.get(row.id)?.row ?? row);
	}

	list(query: WorkQuery & { limit: number }): WorkPage {
		return this.#table.list(query);
	}

	async revive(id: WorkId): Promise<boolean> {
		const row = this.#table.find(id);
		if (row?.state !== "dead") return false;
		const now = Date.now();
		this.#table.update({
			...row,
			state: "queued",
			startAt: now,
			attempts: 0,
			interruptions: 0,
			failedRuns: null,
		});
		this.#lanes.add(row, 1, now);
		await this.#schedule();
		return true;
	}

	counts(): LaneCount[] {
		return this.#table.counts();
	}

	override async alarm(): Promise<void> {
		const now = Date.now();
		await this.ctx.storage.setAlarm(now + WATCH_MS);
		for (const { account } of this.#table.deleteDead(endOfRetention(now))) this.#count(account, -1);
		this.#inShift = true;
		try {
			await this.#shift(now + SHIFT_MS);
		} finally {
			this.#inShift = false;
		}
		await this.#schedule();
	}

	/** Starts items until none is left, or the shift ends. */
	async #shift(end: number): Promise<void> {
		for (;;) {
			this.#wake = Promise.withResolvers();
			this.#startReady();
			const now = Date.now();
			if (this.#runs.size === 0 || now >= end || now < end - SHIFT_MS) return;
			// An item that is ready now waits for the end of another one.
			const again = this.services().isYielding() ? now + YIELD_MS : end;
			const wait = Math.min(end, again, this.#lanes.nextAfter(now) ?? end) - now;
			const timer = setTimeout(this.#wake.resolve, Math.max(1, wait));
			await this.#wake.promise;
			clearTimeout(timer);
		}
	}

	#startReady(): void {
		const { bounds, isClosing, isYielding } = this.services();
		for (;;) {
			const now = Date.now();
			if (now < this.#latest) this.#lanes.forgetTimes();
			this.#latest = now;
			const present = isYielding() ? { ...bounds, accountConcurrency: 1 } : bounds;
			const lane = isClosing() ? undefined : this.#lanes.next(present, now);
			if (!lane) return;
			const row = this.#table.first(lane.account, lane.kind);
			if (!row || !isReady(row, now)) this.#lanes.postpone(lane, row?.startAt ?? Number.POSITIVE_INFINITY);
			else this.#start(row);
		}
	}

	#start(row: WorkRow): void {
		const fence = this.#table.take(row.id);
		this.#lanes.start(row);
		const run: Run = {
			row: { ...row, state: "running" },
			cancelled: Promise.withResolvers(),
			progressAt: 0,
		};
		this.#runs.set(row.id, run);
		const { run: call, track } = this.services();
		const control = new WorkControl(run.cancelled.promise, (value) => this.#progress(run, value));
		const work = call(run.row, fence, control)
			.catch((): WorkOutcome => ({ kind: "interrupted" }))
			.then((outcome) => this.#end(run, outcome));
		track(work);
	}

	#end({ row, cancelled }: Run, outcome: WorkOutcome): void {
		cancelled.resolve(false);
		this.#runs.delete(row.id);
		this.#lanes.end(row);
		const next =
			outcome.kind === "complete" || row.cancelled ? undefined : afterFailure(row, outcome, Date.now());
		if (next) this.#table.update(next);
		else this.#deleteRow(row);
		if (next?.state === "queued") this.#lanes.add(row, 1, next.startAt);
		// In the same commit as the end of this item.
		if (this.#inShift) this.#startReady();
		this.#wake.resolve();
	}

	#progress(run: Run, progress: string): void {
		if (this.#runs.get(run.row.id) !== run) return;
		// The item advances, so earlier interruptions are not its fault.
		run.row = { ...run.row, progress, interruptions: 0 };
		const now = Date.now();
		if (!hasPassed(PROGRESS_MS, run.progressAt, now)) return;
		run.progressAt = now;
		this.#table.update(run.row);
	}

	#cancelRow(row: WorkRow): void {
		const run = this.#runs.get(row.id);
		if (run) {
			run.row = { ...run.row, cancelled: true };
			this.#table.update(run.row);
			run.cancelled.resolve(true);
			return;
		}
		if (row.state === "queued") this.#lanes.remove(row, 1);
		this.#deleteRow(row);
	}

	#forget(id: WorkId): void {
		const row = this.#table.find(id);
		if (row) this.#cancelRow(row);
	}

	#deleteRow({ id, account }: WorkRow): void {
		this.#table.delete(id);
		this.#count(account, -1);
	}

	#count(account: string, added: number): void {
		const items = (this.#items.get(account) ?? 0) + added;
		if (items > 0) this.#items.set(account, items);
		else this.#items.delete(account);
	}

	/** Wakes the shift, or sets the next alarm. */
	async #schedule(): Promise<void> {
		if (this.#inShift) {
			this.#wake.resolve();
			return;
		}
		const at = this.#nextAlarm(Date.now());
		const current = await this.ctx.storage.getAlarm();
		if (at === current) return;
		if (at === null) await this.ctx.storage.deleteAlarm();
		else await this.ctx.storage.setAlarm(at);
	}

	#nextAlarm(now: number): number | null {
		if (this.#runs.size > 0) return now;
		const next = this.#lanes.nextAt;
		if (next === undefined) return this.#items.size > 0 ? now + RETENTION_MS : null;
		return this.services().isClosing() ? now + CLOSING_MS : Math.max(now, next);
	}
}
