/**
 * Preloaded into wrangler (`node --import`) by `npm run dev`: collects its garbage when it is idle. V8 collects little in a process that
 * allocates nothing, so the buffers of each build, about 150 MB, would stay until the next one.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const CHECK_MS = 2_000;
/** Microseconds of CPU between two checks. An idle wrangler takes about a tenth. */
const IDLE_CPU = 100_000;
/** Bytes since the last collection. */
const GROWN_BYTES = 32 * 1024 * 1024;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");

const bytes = () => {
	const { heapTotal, external } = process.memoryUsage();
	return heapTotal + external;
};

let collected = 0;
let before = process.cpuUsage();
setInterval(() => {
	const { user, system } = process.cpuUsage(before);
	before = process.cpuUsage();
	if (user + system > IDLE_CPU || bytes() < collected + GROWN_BYTES) return;
	// The flavor also returns what finalizers release, and unused pages of the heap.
	collect({ type: "major", flavor: "last-resort" });
	collected = bytes();
}, CHECK_MS).unref();
