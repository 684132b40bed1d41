/** Streams at the speed of a real engine: the delay that the gateway adds to the first token and to each later one. */

import { request } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import type { Contender, How } from "./contenders.ts";
import { CHAT, type Context, start, startBoth, stopAll } from "./context.ts";
import { type Ask, agentOf, warmUp } from "./load.ts";
import { quantile, spread } from "./statistics.ts";
import type { Row } from "./table.ts";

const STREAMS = 24;
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
	const gateway = await compare(context, "ganglion", STREAMS);
	const many = await compare(context, "ganglion", MANY);
	const passed = await compare(context, "ganglion", STREAMS, "passthrough");
	const row = (
		label: string,
		of: (one: Added) => number,
		limits: { bar?: number; stretch?: number },
	): Row => ({
		label,
		measured: spread(gateway.map(of)),
		unit: "ms",
		error: spread(error.map(of)),
		...limits,
	});
	return [
		row(`stream: p99 delay of a chunk, ${STREAMS} streams, above the floor`, ({ delay99 }) => delay99, {
			bar: 1,
			stretch: 0.2,
		}),
		row("added time to first token, p50, above the floor", ({ first50 }) => first50, {
			bar: 0.5,
			stretch: 0.2,
		}),
		row("added time to first token, p99, above the floor", ({ first99 }) => first99, { bar: 3, stretch: 1 }),
		{
			label: `stream: p99 delay of a chunk, ${MANY} streams, above the floor`,
			measured: spread(many.map(({ delay99 }) => delay99)),
			unit: "ms",
		},
		{
			label: `stream: p99 delay of a chunk, ${STREAMS} streams of a \`passthrough\` route, above the floor`,
			measured: spread(passed.map(({ delay99 }) => delay99)),
			unit: "ms",
			bar: 1,
			stretch: 0.2,
		},
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
			ask: contender.ask("bulk", { ...CHAT, stream: true }, i === 1 ? how : undefined),
			connections: 4,
		}));
		await warmUp(loops, WARM_UP_ANSWERS, WARM_UP_MS);
		for (let round = 0; round <= context.rounds; round++) {
			const [a, b] = await Promise.all([passing(floor, streams), passing(other, streams, how)]);
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

async function passing(contender: Contender, streams: number, how?: How): Promise<Passed[]> {
	const agent = agentOf(streams);
	const paceRequest = contender.ask("paced", { ...CHAT, stream: true }, how);
	const passed = await Promise.all(
		Array.from({ length: streams }, async (_, i) => {
			await wait(i * APART_MS);
			return watch(paceRequest, agent);
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
