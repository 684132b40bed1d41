/** The lines of one backend, or of one model without a known backend (`pace.ts`). */
import { settledElsewhere } from "../../core/settled-elsewhere.ts";

/** Averages have this weight. */
export const AVERAGE_OF = 20;

export interface Lane {
	limit: number;
	/** Lines that have started. */
	running: number;
	/** Lines at the backend. */
	placed: number;
	/** Lines without a place, the oldest first. */
	waiting: (() => void)[];
	/** Average time of a line at the backend. 0: not known. */
	placeMs: number;
	answered: number;
	/** No line starts before. Epoch milliseconds. */
	pausedUntil: number;
}

/** A line gives its place to the next one. */
export function leavePlace(lane: Lane): void {
	lane.placed--;
	lane.waiting.shift()?.();
}

/** A line was at the backend for this time. */
export function addTime(lane: Lane, milliseconds: number): void {
	lane.placeMs += (milliseconds - lane.placeMs) / (lane.placeMs === 0 ? 1 : AVERAGE_OF);
}

/** Resolves when another line leaves its place, or with `late`. */
export async function turnOf({ waiting }: Lane, late: Promise<void>): Promise<void> {
	const turn = settledElsewhere<void>();
	waiting.push(turn.resolve);
	await Promise.race([turn.promise, late]);
	const index = waiting.indexOf(turn.resolve);
	if (index >= 0) waiting.splice(index, 1);
}
