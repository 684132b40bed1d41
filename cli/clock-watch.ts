/**
 * Logs that the clock of the machine was set back. Requests follow the clock. An open Durable Object does not: workerd never sets its clock
 * back, so after an hour back its `Date.now()` stands still for an hour, and the timers and alarms that it sets wait an hour longer. Only a start of
 * the object cures it. The gateway does not start objects again itself: that would interrupt work that need not stop, and each caller would have to
 * repeat its call.
 */
import type { Log } from "./log.ts";

const CHECK_MS = 1_000;
/** A shorter wait is not worth a restart. */
const MIN_SET_BACK_MS = 10_000;

export interface ClockWatch {
	log: Pick<Log, "error">;
	/** Epoch milliseconds. */
	now?: () => number;
	/** Milliseconds of a clock that is never set. */
	elapsed?: () => number;
}

/** Returns a function that ends the watch. */
export function watchClock({
	log,
	now = Date.now,
	elapsed = () => performance.now(),
}: ClockWatch): () => void {
	const offset = (): number => now() - elapsed();
	let latest = offset();
	const timer = setInterval(() => {
		const present = offset();
		const seconds = Math.round((latest - present) / 1_000);
		if (latest - present >= MIN_SET_BACK_MS)
			log.error(messageOf(seconds), { message: "clock set back", seconds });
		latest = present;
	}, CHECK_MS);
	timer.unref();
	return () => clearInterval(timer);
}

const messageOf = (seconds: number): string =>
	`The clock of the machine was set back by ${seconds} seconds. Open batches, background responses, budgets and rate windows keep the earlier clock ` +
	`and wait ${seconds} seconds longer. Restart the gateway to end these waits.`;
