/** What it costs to store 10 KB for good: as a response and as an object, over a bare row. Times and commits. */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../scripts/free-port.ts";
import { runtimeSettings } from "../../scripts/settings.ts";
import { type Served, serve } from "../../scripts/workerd.ts";
import { wrapped } from "../soak/gateway.ts";
import { BUILT } from "./contenders.ts";
import type { Context } from "./context.ts";
import { exactly, spread } from "./statistics.ts";
import { endTraced, straceTo } from "./syncs.ts";
import type { Row } from "./table.ts";
import { ADMIN_TOKEN } from "./token.ts";

type Way = "row" | "response" | "object";

const OVER_ROW: readonly { way: Way; label: string }[] = [
	{ way: "response", label: "a response of 10 KB" },
	{ way: "object", label: "an object of 10 KB" },
];
/** Stores of one request, so that the request itself counts little. */
const STORES = 20;
/** Requests of each way in a round, in turn. */
const TURNS = 15;
/** Stores of each way whose waits for the disk are counted. */
const COUNTED = 200;
/** One for each store. A checkpoint, after some hundred stores, waits once too. */
const MAX_COMMITS = 1.05;
/** With the name of the file. */
const COMMIT = /\b(?:fsync|fdatasync)\(\d+<[^>]*-wal>/g;

export async function durableStores(context: Context): Promise<Row[]> {
	return [...(await times(context)), ...(await commits(context))];
}

/** The median time of a store over that of a bare row, in the same round. */
async function times(context: Context): Promise<Row[]> {
	const served = await start(context, "stores");
	const ratios = new Map<Way, number[]>(OVER_ROW.map(({ way }) => [way, []]));
	const medians = new Map<Way, number[]>();
	const again: number[] = [];
	try {
		for (let round = 0; round <= context.rounds; round++) {
			const rows: number[] = [];
			const rowsAgain: number[] = [];
			const others = new Map<Way, number[]>(OVER_ROW.map(({ way }) => [way, []]));
			for (let turn = 0; turn < TURNS; turn++) {
				rows.push(await store(served, "row", STORES));
				for (const [way, measured] of others) measured.push(await store(served, way, STORES));
				rowsAgain.push(await store(served, "row", STORES));
			}
			// The first round is the warm-up.
			if (round === 0) continue;
			const bare = spread(rows).median;
			again.push(spread(rowsAgain).median / bare);
			medians.set("row", [...(medians.get("row") ?? []), bare]);
			for (const [way, measured] of others) {
				const { median } = spread(measured);
				ratios.get(way)?.push(median / bare);
				medians.set(way, [...(medians.get(way) ?? []), median]);
			}
		}
	} finally {
		await served.stop();
	}
	const milliseconds = (way: Way) => spread(medians.get(way) ?? []).median.toFixed(2);
	return OVER_ROW.map(({ way, label }) => ({
		label: `${label}, over a bare row of 10 KB: p50 of a durable store`,
		measured: spread(ratios.get(way) ?? []),
		unit: "x",
		error: spread(again),
		bar: 1.3,
		note: `${milliseconds(way)} to ${milliseconds("row")} ms`,
	}));
}

/** Commits of a store: waits for the disk by a file of SQLite's write-ahead log. */
async function commits(context: Context): Promise<Row[]> {
	const log = join(context.field.folder, "strace-stores.txt");
	const wrapper = straceTo(log, "-y");
	if (!wrapper) return [];
	const served = await start(context, "counted-stores", wrapper);
	const counted = () => readFileSync(log, "utf8").match(COMMIT)?.length ?? 0;
	const commitsOf = async (way: Way): Promise<number> => {
		await store(served, way, STORES);
		const before = counted();
		await store(served, way, COUNTED);
		return counted() - before;
	};
	try {
		const bare = await commitsOf("row");
		const rows: Row[] = [];
		for (const { way, label } of OVER_ROW) {
			const own = await commitsOf(way);
			rows.push({
				label: `${label}: commits of a durable store`,
				measured: exactly(own / COUNTED),
				unit: "",
				bar: MAX_COMMITS,
				note: `${own} commits of ${COUNTED} stores; ${bare} of as many bare rows`,
			});
		}
		return rows;
	} finally {
		endTraced(served.pid);
		await served.stop();
	}
}

/** Milliseconds of one store. */
async function store({ url }: Served, way: Way, count: number): Promise<number> {
	const begun = performance.now();
	const response = await fetch(`${url}/store/${way}?count=${count}`, { method: "POST" });
	if ((await response.text()) !== "stored") throw new Error(`HTTP ${response.status} of /store/${way}`);
	return (performance.now() - begun) / count;
}

async function start({ field }: Context, name: string, wrapper?: readonly string[]): Promise<Served> {
	const folder = join(field.folder, name);
	mkdirSync(folder);
	return serve(
		{
			name: "ganglion",
			modules: await wrapped(BUILT, folder, join(import.meta.dirname, "storage-filler.ts")),
			vars: { ADMIN_TOKEN, DEFAULT_BACKEND: "simulator" },
			...runtimeSettings(),
			...(wrapper && { wrapper }),
		},
		await freePort(),
		folder,
	);
}
