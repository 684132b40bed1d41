/** The hours of a day in which lines start. */
import type { JobSettings } from "./settings.ts";

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;

/** Milliseconds until lines may start. 0: now. */
export function untilHours({ hours }: Pick<JobSettings, "hours">, now: number): number {
	if (!hours) return 0;
	const minutes = (now / MINUTE_MS) % DAY_MINUTES;
	const { from, to } = hours;
	const isOpen = from <= to ? minutes >= from && minutes < to : minutes >= from || minutes < to;
	return isOpen ? 0 : Math.ceil(((from - minutes + DAY_MINUTES) % DAY_MINUTES) * MINUTE_MS);
}
