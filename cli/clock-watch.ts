/**
 * Says when the clock of the machine was set back. Requests follow the clock. An open Durable Object does not: workerd never sets its clock
 * back, so after an hour back its `Date.now()` stands still for an hour, and the timers and alarms that it sets wait an hour longer. Only a start of
 * the object cures it. Starting each object again from inside was built and removed: it interrupts the work of objects that have no cause to stop,
 * and every call of an object would have to be made again.
 */
import type { Log } from "./log.ts";

const CHECK_MS = 1_000;
/** Objects that wait for less are not worth a restart. */
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
	`The clock of the machine was set back by ${seconds} seconds. Batches, background responses and rate windows that are open keep the time before, ` +
	"and wait that much longer. Restart the gateway, and they go on at once.";
