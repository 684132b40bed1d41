/** The lines of one backend, or of one model without a known backend (`pace.ts`). */
/** Averages have this weight. */
export const AVERAGE_OF = 20;

export type LineTurn = PromiseWithResolvers<void>;

export interface Lane {
	limit: number;
	/** Lines that have started. */
	running: number;
	/** Lines at the backend. */
	placed: number;
	/** Of lines without a place. The one that has looked longest ago is first. */
	waiting: Set<LineTurn>;
	/** Average time of a line at the backend. 0: not known. */
	placeMs: number;
	answered: number;
	/** No line starts before. Epoch milliseconds. */
	pausedUntil: number;
}

/** A line was at the backend for this time. */
export function addTime(lane: Lane, milliseconds: number): void {
	lane.placeMs += (milliseconds - lane.placeMs) / (lane.placeMs === 0 ? 1 : AVERAGE_OF);
}

/** Wakes the line that has waited longest. */
export function wakeNext({ waiting }: Lane): void {
	const [next] = waiting;
	if (!next) return;
	waiting.delete(next);
	next.resolve();
}

/** Resolves when another line wakes this one, or with `late`. */
export async function turnOf({ waiting }: Lane, turn: LineTurn, late: Promise<void>): Promise<void> {
	waiting.add(turn);
	await Promise.race([turn.promise, late]);
	waiting.delete(turn);
}
