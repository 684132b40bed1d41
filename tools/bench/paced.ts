/** Streams at the speed of a real engine: the delay that the gateway adds to the first token and to each later one. */
import { request } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import type { How } from "./contenders.ts";
import { type Context, STREAMED_CHAT, start, startBoth, stopAll } from "./context.ts";
import { type Ask, agentOf, warmUp } from "./load.ts";
import { quantile, spread } from "./statistics.ts";
import type { Row } from "./table.ts";

export const STREAMS = 24;
const MANY = 64;
/** Answers of 200 events each. The streams themselves run the code too rarely for the JavaScript engine to optimise it. */
const WARM_UP_ANSWERS = 150;
const WARM_UP_MS = 30_000;
/** Delay between the starts of two streams, so that their chunks are not synchronised. */
const APART_MS = 7;

interface Passed {
	/** Milliseconds from the request to the first event. */
	firstMs: number;
	/** Milliseconds from the engine to the reader, per event. */
	delays: number[];
}

/** Runs streams through the floor and through Ganglion at the same time; then through two floors. */
export async function paced(context: Context): Promise<Row[]> {
	const error = await compare(context, "floor again", STREAMS);
	const passed = await compare(context, "ganglion", STREAMS);
	const translated = await compare(context, "ganglion", STREAMS, "renamed");
	const many = await compare(context, "ganglion", MANY, "renamed");
	const row = (
		label: string,
		measured: readonly Added[],
		of: (one: Added) => number,
		limits: { bar?: number; stretch?: number } = {},
	): Row => ({
		label,
		measured: spread(measured.map(of)),
		unit: "ms",
		error: spread(error.map(of)),
		...limits,
	});
	const chunk = ({ delay99 }: Added) => delay99;
	const delayOf = (streams: number, which: string): string =>
		`stream: p99 delay of a chunk, ${streams} streams that ${which}, above the floor`;
	return [
		row(delayOf(STREAMS, "pass through"), passed, chunk, { bar: 1, stretch: 0.4 }),
		row(delayOf(STREAMS, "are rewritten"), translated, chunk, { bar: 6, stretch: 3 }),
		row(delayOf(MANY, "are rewritten"), many, chunk),
		...[passed, translated].flatMap((measured, i) => {
			const which = i === 0 ? "a stream that passes through" : "a stream that is rewritten";
			return [
				row(`added time to first token of ${which}, p50`, measured, ({ first50 }) => first50, {
					bar: 2,
					stretch: 0.5,
				}),
				row(`added time to first token of ${which}, p99`, measured, ({ first99 }) => first99, {
					bar: 5,
					stretch: 3,
				}),
			];
		}),
	];
}

interface Added {
	first50: number;
	first99: number;
	delay99: number;
}

async function compare(
	context: Context,
	name: "floor again" | "ganglion",
	streams: number,
	how?: How,
): Promise<Added[]> {
	const [floor, other] = await startBoth(
		() => start(context, "floor"),
		() => start(context, name),
	);
	const rounds: Added[] = [];
	try {
		const loops = [floor, other].map((contender, i) => ({
			ask: contender.ask("bulk", STREAMED_CHAT, i === 1 ? how : undefined),
			connections: 4,
		}));
		await warmUp(loops, WARM_UP_ANSWERS, WARM_UP_MS);
		for (let round = 0; round <= context.rounds; round++) {
			const [a, b] = await Promise.all([
				passing(floor.ask("paced", STREAMED_CHAT), streams),
				passing(other.ask("paced", STREAMED_CHAT, how), streams),
			]);
			const over = (share: number, of: (one: Passed) => number[]) =>
				quantile(b.flatMap(of), share) - quantile(a.flatMap(of), share);
			// The first round opens the connections.
			if (round > 0)
				rounds.push({
					first50: over(0.5, ({ firstMs }) => [firstMs]),
					first99: over(0.99, ({ firstMs }) => [firstMs]),
					delay99: over(0.99, ({ delays }) => delays),
				});
		}
	} finally {
		await stopAll([floor, other]);
	}
	return rounds;
}

/** `ask`: of a stream whose engine is paced. */
export async function passing(ask: Ask, streams: number): Promise<Passed[]> {
	const agent = agentOf(streams);
	const passed = await Promise.all(
		Array.from({ length: streams }, async (_, i) => {
			await wait(i * APART_MS);
			return watch(ask, agent);
		}),
	);
	agent.destroy();
	return passed;
}

const DEPARTED = /"@(\d+\.\d+)"/g;

function watch({ url, headers, body }: Ask, agent: ReturnType<typeof agentOf>): Promise<Passed> {
	const begun = performance.now();
	return new Promise((resolve, reject) => {
		const sent = request(
			url,
			{ method: "POST", agent, headers: { "content-type": "application/json", ...headers } },
			(response) => {
				if (response.statusCode !== 200) reject(new Error(`HTTP ${response.statusCode}`));
				const delays: number[] = [];
				let firstMs = 0;
				response.on("data", (piece: Buffer) => {
					const now = performance.timeOrigin + performance.now();
					firstMs ||= performance.now() - begun;
					for (const [, departed] of piece.toString("latin1").matchAll(DEPARTED))
						delays.push(now - Number(departed));
				});
				response.on("error", reject);
				response.on("end", () => resolve({ firstMs, delays }));
			},
		);
		sent.on("error", reject);
		sent.end(body);
	});
}
