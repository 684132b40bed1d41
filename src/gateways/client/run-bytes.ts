/** Counts the bytes of resumable streams on the disk, from their first event until their objects expire. */
import { hasPassed } from "../../core/elapsed.ts";
import { requireDiskSpace } from "../../core/object-failure.ts";
import { runBytes } from "../../core/process-counts.ts";
import { KEPT_MS, type StreamRun } from "../durable/stream-run.ts";

export type StreamRunCalls = Pick<DurableObjectStub<StreamRun>, "begin" | "append" | "finish" | "discard">;

/** The files of an object without events. */
const EMPTY_RUN_BYTES = 32 * 1024;

export class RunBytes {
	readonly #now: () => number;
	/** Runs that have ended. The first one expires first. */
	#ended: { account: string; bytes: number; endedAt: number }[] = [];

	constructor(now: () => number) {
		this.#now = now;
	}

	/** The calls of a run. `begin` and `append` throw if there is no space. */
	counted(calls: StreamRunCalls, account: string): StreamRunCalls {
		let bytes = 0;
		const take = (amount: number): void => {
			this.releaseExpired();
			requireDiskSpace("resumable streams");
			runBytes.take(account, amount);
			bytes += amount;
		};
		return {
			begin: (owner) => {
				take(EMPTY_RUN_BYTES);
				return calls.begin(owner);
			},
			append: (content, events) => {
				take(content.length);
				return calls.append(content, events);
			},
			finish: (state) => {
				this.#end(account, bytes);
				bytes = 0;
				return calls.finish(state);
			},
			discard: async () => {
				const released = bytes;
				bytes = 0;
				try {
					await calls.discard();
					runBytes.release(account, released);
				} catch (cause) {
					// The object expires.
					this.#end(account, released);
					throw cause;
				}
			},
		} as StreamRunCalls;
	}

	#end(account: string, bytes: number): void {
		if (bytes > 0) this.#ended.push({ account, bytes, endedAt: this.#now() });
	}

	releaseExpired(): void {
		const now = this.#now();
		const kept = this.#ended.findIndex(({ endedAt }) => !hasPassed(KEPT_MS, endedAt, now));
		const expired = this.#ended.splice(0, kept < 0 ? this.#ended.length : kept);
		for (const { account, bytes } of expired) runBytes.release(account, bytes);
	}
}
