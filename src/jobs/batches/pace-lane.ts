/** The lines of batches that one backend answers, or one model without a known backend (`pace.ts`). */
/** Resolves when the line may look for a place again. */
export type LineTurn = PromiseWithResolvers<void>;

/** Averages have this weight. */
export const AVERAGE_OF = 20;

export interface BackendLane {
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
export function addTime(lane: BackendLane, milliseconds: number): void {
	lane.placeMs += (milliseconds - lane.placeMs) / (lane.placeMs === 0 ? 1 : AVERAGE_OF);
}

/** Wakes the line that has looked longest ago. */
export function wakeNext({ waiting }: BackendLane): void {
	const [next] = waiting;
	if (!next) return;
	waiting.delete(next);
	next.resolve();
}

/** Resolves when another line wakes this one, or with `late`. */
export async function turnOf({ waiting }: BackendLane, turn: LineTurn, late: Promise<void>): Promise<void> {
	waiting.add(turn);
	await Promise.race([turn.promise, late]);
	waiting.delete(turn);
}
