/** A batch against the same requests by live callers, and live requests beside a batch. All in one process. */
import { setTimeout as wait } from "node:timers/promises";
import { type BatchApi, batchApi, linesOf } from "./batch-api.ts";
import type { Contender } from "./contenders.ts";
import { CHAT, type Context, start } from "./context.ts";
import { type Ask, agentOf, ask, warmUp } from "./load.ts";
import { cpuMicroseconds } from "./process.ts";
import { quantile, spread } from "./statistics.ts";
import type { Row } from "./table.ts";

const CALLERS = 32;
const LINES = 4_000;
const WARM_UP_ANSWERS = 3_000;
const WARM_UP_MS = 30_000;
/** Live requests beside a batch, with the same distance: a tenth of what the process can do. */
const LIVE_PER_SECOND = 50;
/** One collection of all garbage stops the process for 0.1 seconds, about once in 2 minutes: of fewer requests it would decide the p99. */
const LIVE_REQUESTS = 1_000;
/** Not measured: the lines that were under way without live requests end meanwhile. */
const LEAD_REQUESTS = 50;
/** The load looks at the clock so often. If it is later than this, the requests under way are not measured. */
const TICK_MS = 4;
const PAUSE_MS = 3;
/** So many lines do not end before the live requests. */
const MANY_LINES = 30_000;
/** In which a batch reaches its pace. */
const PACE_MS = 3_000;

export async function batches(context: Context): Promise<Row[]> {
	const contender = await start(context, "ganglion", { jobs: { concurrency: CALLERS } });
	try {
		const live = contender.ask("late", CHAT);
		await warmUp([{ ask: live, connections: CALLERS }], WARM_UP_ANSWERS, WARM_UP_MS);
		const api = batchApi(contender);
		const input = await api.upload(linesOf(LINES));
		const ratios: number[] = [];
		const notes: string[] = [];
		for (let round = 0; round < context.rounds; round++) {
			const ofLive = await costOf(contender, () => allOf(live, LINES));
			const ofBatch = await costOf(contender, () => api.complete(input));
			ratios.push(ofBatch.ms / ofLive.ms);
			const perSecond = ({ ms }: Cost): string => ((LINES / ms) * 1_000).toFixed(0);
			const cpu = ({ cpuUs }: Cost): string => (cpuUs / LINES).toFixed(0);
			notes.push(
				`${perSecond(ofBatch)} against ${perSecond(ofLive)} a second, ${cpu(ofBatch)} against ${cpu(ofLive)} us of CPU each`,
			);
			context.say(`  ${(ofLive.ms / ofBatch.ms).toFixed(2)}: ${notes.at(-1)}`);
		}
		return [
			{
				label: `time of a batch of ${LINES} lines / the same requests by ${CALLERS} callers`,
				...{ measured: spread(ratios), unit: "x", bar: 1 / 0.8, stretch: 1 },
				note: `lines ${notes.join("; ")}`,
			},
		];
	} finally {
		await contender.stop();
	}
}

export async function liveBesideBatch(context: Context): Promise<Row[]> {
	const contender = await start(context, "ganglion");
	try {
		const live = contender.ask("late", CHAT);
		await warmUp([{ ask: live, connections: CALLERS }], WARM_UP_ANSWERS, WARM_UP_MS);
		const api = batchApi(contender);
		const input = await api.upload(linesOf(MANY_LINES));
		const ratios: number[] = [];
		const notes: string[] = [];
		for (let round = 0; round < context.rounds; round++) {
			const alone = await paced(live);
			const { beside, lines } = await besideBatch(api, input, live);
			const of = (times: Paced, part: number): string => quantile(times.ms, part).toFixed(1);
			ratios.push(quantile(beside.ms, 0.99) / quantile(alone.ms, 0.99));
			notes.push(
				`${of(beside, 0.99)} against ${of(alone, 0.99)} ms beside ${lines.toFixed(0)} lines a second (p50 ${of(beside, 0.5)}, ${of(alone, 0.5)}; p95 ${of(beside, 0.95)}, ${of(alone, 0.95)}; ${beside.omitted} and ${alone.omitted} of ${LIVE_REQUESTS} not measured, because the load paused)`,
			);
			context.say(`  ${ratios.at(-1)?.toFixed(2)}: ${notes.at(-1)}`);
		}
		return [
			{
				label: `p99 of ${LIVE_PER_SECOND} live requests a second beside a batch / without`,
				...{ measured: spread(ratios), unit: "x", bar: 1.2, stretch: 1.05 },
				note: notes.join("; "),
			},
		];
	} finally {
		await contender.stop();
	}
}

async function besideBatch(
	api: BatchApi,
	input: string,
	live: Ask,
): Promise<{ beside: Paced; lines: number }> {
	const id = await api.create(input);
	await api.reached(id, ({ request_counts }) => request_counts.completed > 0);
	await wait(PACE_MS);
	const before = (await api.state(id)).request_counts.completed;
	const begun = performance.now();
	const beside = await paced(live);
	const { request_counts, status } = await api.state(id);
	if (status !== "in_progress") throw new Error(`the batch is ${status}`);
	const lines = ((request_counts.completed - before) / (performance.now() - begun)) * 1_000;
	await api.cancel(id);
	return { beside, lines };
}

interface Cost {
	ms: number;
	/** Microseconds of CPU of the gateway. */
	cpuUs: number;
}

async function costOf({ pid }: Contender, work: () => Promise<unknown>): Promise<Cost> {
	const begun = performance.now();
	const before = cpuMicroseconds(pid);
	await work();
	return { ms: performance.now() - begun, cpuUs: cpuMicroseconds(pid) - before };
}

async function allOf(request: Ask, count: number): Promise<void> {
	const agent = agentOf(CALLERS);
	let sent = 0;
	await Promise.all(
		Array.from({ length: CALLERS }, async () => {
			while (sent++ < count) await ask(request, agent);
		}),
	);
	agent.destroy();
}

interface Paced {
	/** Milliseconds of each request. */
	ms: number[];
	/** Requests during pauses of the load itself. */
	omitted: number;
}

/** Requests are sent at equal distances, whether or not earlier ones have their answers. */
async function paced(request: Ask): Promise<Paced> {
	const agent = agentOf(CALLERS);
	const watch = watchPauses();
	const begun = performance.now();
	const times = await Promise.all(
		Array.from({ length: LEAD_REQUESTS + LIVE_REQUESTS }, async (_, index) => {
			await wait(Math.max(0, begun + (index * 1_000) / LIVE_PER_SECOND - performance.now()));
			const at = performance.now();
			const { totalMs } = await ask(request, agent);
			return { at, totalMs };
		}),
	);
	const pauses = watch.end();
	agent.destroy();
	const measured = times
		.slice(LEAD_REQUESTS)
		.filter(({ at, totalMs }) => !pauses.some(({ from, to }) => from < at + totalMs && at < to));
	return { ms: measured.map(({ totalMs }) => totalMs), omitted: LIVE_REQUESTS - measured.length };
}

interface Pause {
	from: number;
	to: number;
}

/** Finds when this process does not run. The engine has the same core. */
function watchPauses(): { end(): Pause[] } {
	const pauses: Pause[] = [];
	let last = performance.now();
	const timer = setInterval(() => {
		const now = performance.now();
		if (now - last > TICK_MS + PAUSE_MS) pauses.push({ from: last, to: now });
		last = now;
	}, TICK_MS);
	return {
		end() {
			clearInterval(timer);
			return pauses;
		},
	};
}
