/** Sums of the engines' reports. Pure. */
import type { EngineReport } from "../../fleet/health.ts";

/** The worst circuit has the highest number. */
export const CIRCUITS: Readonly<Record<EngineReport["circuit"], number>> = {
	closed: 0,
	"half-open": 1,
	open: 2,
};

/** Adds the numbers of engines with the same key. The worst of their circuits is used. */
export function sumEngines<T extends EngineReport>(
	engines: readonly T[],
	keyOf: (engine: T) => readonly (string | undefined)[],
): T[] {
	const sums = new Map<string, T>();
	for (const engine of engines) {
		const key = JSON.stringify(keyOf(engine));
		const sum = sums.get(key);
		sums.set(
			key,
			sum
				? {
						...sum,
						circuit: CIRCUITS[engine.circuit] > CIRCUITS[sum.circuit] ? engine.circuit : sum.circuit,
						requests: sum.requests + engine.requests,
						failures: sum.failures + engine.failures,
						begun: sum.begun + engine.begun,
						waitedMs: sum.waitedMs + engine.waitedMs,
					}
				: engine,
		);
	}
	return [...sums.values()];
}
