/** How long the gateway takes for the smallest request. Without enough CPU, each step of the gateway and of its callers takes as long. */
import { setTimeout as wait } from "node:timers/promises";
import type { Gateway } from "../gateway.ts";

/** Milliseconds, on the clock of the run. */
export interface Delay {
	from: number;
	/** When the answer arrived, or when the gateway was killed. */
	to: number;
}

const PERIOD_MS = 100;
/** Delays that ended in this time before a kill count for it. */
const BEFORE_KILL_MS = 3_000;

/** Measures until `signal` fires. */
export async function measureDelays(
	gateway: Pick<Gateway, "isUp" | "url">,
	signal: AbortSignal,
): Promise<Delay[]> {
	const delays: Delay[] = [];
	while (!signal.aborted) {
		await wait(PERIOD_MS);
		if (!gateway.isUp) continue;
		const from = performance.now();
		const isOver = await fetch(`${gateway.url}/health`, { signal })
			.then((response) => response.arrayBuffer())
			.then(
				() => true,
				// A kill ends a delay. The end of the measurement does not.
				() => !signal.aborted,
			);
		if (isOver) delays.push({ from, to: performance.now() });
	}
	return delays;
}

/** The longest delay shortly before a kill. */
export const delayAt = (kill: number, delays: readonly Delay[]): number =>
	delays
		.filter(({ from, to }) => from <= kill && to >= kill - BEFORE_KILL_MS)
		.reduce((longest, { from, to }) => Math.max(longest, Math.min(to, kill) - from), 0);
