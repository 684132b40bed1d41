/**
 * Which lane's item runs next. A lane has the items of one account and one kind. Accounts with fewer running items come first, then
 * lanes with fewer, then the lane that has waited the longest. So neither an account nor a kind with many items delays the others.
 * An eighth of the places is for accounts that run nothing, so that a few accounts with slow items cannot hold all places.
 */
import type { LaneKey } from "./work-table.ts";

export interface LaneBounds {
	/** Running items of all accounts. */
	concurrency: number;
	/** Running items of one account. */
	accountConcurrency: number;
}

const FREE_FOR_IDLE_ACCOUNTS = 1 / 8;

interface Lane extends LaneKey {
	queued: number;
	running: number;
	/** No item starts before. Epoch milliseconds. 0: unknown. */
	nextAt: number;
	/** Number of the last start. */
	lastStart: number;
}

export class Lanes {
	readonly #lanes = new Map<string, Lane>();
	/** Running items, by account. */
	readonly #running = new Map<string, number>();
	#total = 0;
	#starts = 0;

	/** The running items of all accounts. */
	get running(): number {
		return this.#total;
	}

	/** Items were added, or wait again. */
	add(key: LaneKey, items: number, nextAt = 0): void {
		const lane = this.#lane(key);
		lane.queued += items;
		lane.nextAt = Math.min(lane.nextAt, nextAt);
	}

	/** Queued items were deleted. */
	remove(key: LaneKey, items: number): void {
		const lane = this.#lane(key);
		lane.queued -= items;
		this.#forgetEmpty(lane);
	}

	/** A queued item of the lane runs. */
	start(key: LaneKey): void {
		const lane = this.#lane(key);
		lane.queued--;
		lane.running++;
		lane.lastStart = ++this.#starts;
		this.#running.set(key.account, (this.#running.get(key.account) ?? 0) + 1);
		this.#total++;
	}

	/** A running item has ended. */
	end(key: LaneKey): void {
		const lane = this.#lane(key);
		lane.running--;
		const others = (this.#running.get(key.account) ?? 1) - 1;
		if (others > 0) this.#running.set(key.account, others);
		else this.#running.delete(key.account);
		this.#total--;
		this.#forgetEmpty(lane);
	}

	/** The first item of the lane starts at this time. */
	postpone(key: LaneKey, nextAt: number): void {
		this.#lane(key).nextAt = nextAt;
	}

	/** Forgets when the first items start: the clock was set back. */
	forgetTimes(): void {
		for (const lane of this.#lanes.values()) lane.nextAt = 0;
	}

	/** The lane whose first item may run now. */
	next({ concurrency, accountConcurrency }: LaneBounds, now: number): LaneKey | undefined {
		if (this.#total >= concurrency) return undefined;
		const isReserved = this.#total >= concurrency - Math.floor(concurrency * FREE_FOR_IDLE_ACCOUNTS);
		let best: Lane | undefined;
		for (const lane of this.#lanes.values()) {
			if (lane.queued === 0 || lane.nextAt > now) continue;
			if (this.#runningOf(lane) >= (isReserved ? 1 : accountConcurrency)) continue;
			if (!best || this.#isBefore(lane, best)) best = lane;
		}
		return best;
	}

	/** When the next queued item may start, if there is room. `undefined`: none is queued. */
	get nextAt(): number | undefined {
		return this.nextAfter(Number.NEGATIVE_INFINITY);
	}

	/** When the first item may start that may not start now. */
	nextAfter(now: number): number | undefined {
		let next: number | undefined;
		for (const { queued, nextAt } of this.#lanes.values())
			if (queued > 0 && nextAt > now) next = Math.min(next ?? nextAt, nextAt);
		return next;
	}

	#isBefore(lane: Lane, other: Lane): boolean {
		const accounts = this.#runningOf(lane) - this.#runningOf(other);
		if (accounts !== 0) return accounts < 0;
		if (lane.running !== other.running) return lane.running < other.running;
		return lane.lastStart < other.lastStart;
	}

	#runningOf({ account }: LaneKey): number {
		return this.#running.get(account) ?? 0;
	}

	#lane({ account, kind }: LaneKey): Lane {
		const id = JSON.stringify([account, kind]);
		let lane = this.#lanes.get(id);
		if (!lane) {
			lane = { account, kind, queued: 0, running: 0, nextAt: Number.POSITIVE_INFINITY, lastStart: 0 };
			this.#lanes.set(id, lane);
		}
		return lane;
	}

	#forgetEmpty(lane: Lane): void {
		if (lane.queued === 0 && lane.running === 0)
			this.#lanes.delete(JSON.stringify([lane.account, lane.kind]));
	}
}
