/**
 * The process of the normal callers, with their engine and that of the floor. Nothing else runs in it, because its event loop is the
 * clock of their delays. The soak starts and stops the callers, and receives their results.
 */
import { type CallerResults, callNormally, NormalEngine, type NormalTarget } from "./callers.ts";

/** What the soak sends. */
export type NormalOrder = { start: NormalTarget } | "stop";

export type NormalReport =
	| { engine: string; floorEngine: string }
	| { results: CallerResults; served: number };

const engine = new NormalEngine();
const report = (message: NormalReport): void => void process.send?.(message);
let calling: { stop: AbortController; results: Promise<CallerResults> } | undefined;
process.on("message", async (order: NormalOrder) => {
	if (order === "stop") {
		calling?.stop.abort();
		const results = await calling?.results;
		if (results) report({ results, served: engine.complete });
		return;
	}
	const stop = new AbortController();
	calling = { stop, results: callNormally(order.start, stop.signal) };
});
process.on("disconnect", () => process.exit(0));
report({ engine: await engine.listen(), floorEngine: await new NormalEngine().listen() });
