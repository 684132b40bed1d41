/** Memory of idle open streams: per stream while they are open, and what remains after they have closed. */
import { type ClientRequest, request } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import type { Contender, How } from "./contenders.ts";
import { CHAT, type Context, start } from "./context.ts";
import { agentOf } from "./load.ts";
import { residentBytes } from "./process.ts";
import { exactly } from "./statistics.ts";
import type { Row } from "./table.ts";

const COUNTS = [500, 2000];
const SETTLE_MS = 5_000;

/** Measures each contender twice: a first wave of streams, which includes the growth of the heap, and a second one. */
export async function openStreams(context: Context): Promise<Row[]> {
	const rows: Row[] = [];
	for (const count of COUNTS) {
		const floor = await holdTwice(context, "floor", count);
		const bar = count === COUNTS[0] ? 80 : 50;
		for (const [route, how] of [
			["", "openai"],
			[" of a `passthrough` route", "passthrough"],
		] as const) {
			const ganglion = await holdTwice(context, "ganglion", count, how);
			rows.push(
				{
					label: `memory a stream${route}, first wave of ${count} open streams`,
					measured: exactly(ganglion.first / 1024),
					unit: "KB",
					...{ bar: 200, stretch: 150 },
					note: `floor ${Math.round(floor.first / 1024)} KB`,
				},
				{
					label: `memory a stream${route}, second wave of ${count} open streams`,
					measured: exactly(ganglion.each / 1024),
					unit: "KB",
					bar,
					note: `floor ${Math.round(floor.each / 1024)} KB`,
				},
				{
					label: `memory kept a stream${route}, after ${count} closed again`,
					measured: exactly(ganglion.kept / 1024),
					unit: "KB",
					note: `floor ${Math.round(floor.kept / 1024)} KB`,
				},
			);
		}
	}
	return rows;
}

async function holdTwice(
	context: Context,
	name: "floor" | "ganglion",
	count: number,
	how?: How,
): Promise<Held & { first: number }> {
	const contender = await start(context, name);
	try {
		const { each: first } = await hold(contender, count, how);
		return { first, ...(await hold(contender, count, how)) };
	} finally {
		await contender.stop();
	}
}

interface Held {
	each: number;
	/** Memory after closing, minus memory before this measurement, per stream. */
	kept: number;
}

async function hold(contender: Contender, count: number, how?: How): Promise<Held> {
	const before = residentBytes(contender.pid);
	const agent = agentOf(count);
	const { url, headers, body } = contender.ask("slow", { ...CHAT, stream: true }, how);
	const requests: ClientRequest[] = [];
	await Promise.all(
		Array.from(
			{ length: count },
			() =>
				new Promise<void>((resolve, reject) => {
					const sent = request(
						url,
						{ method: "POST", agent, headers: { "content-type": "application/json", ...headers } },
						(response) => {
							response.once("data", () => resolve());
							response.on("error", () => {});
							if (response.statusCode !== 200) reject(new Error(`HTTP ${response.statusCode}`));
						},
					);
					sent.on("error", reject);
					sent.end(body);
					requests.push(sent);
				}),
		),
	);
	await wait(SETTLE_MS);
	const during = residentBytes(contender.pid);
	for (const sent of requests) sent.on("error", () => {}).destroy();
	agent.destroy();
	await wait(SETTLE_MS);
	return { each: (during - before) / count, kept: (residentBytes(contender.pid) - before) / count };
}
