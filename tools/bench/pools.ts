/** What a pool of 100 replicas adds to a request, compared with one address, in floors of CPU. */
import type { Contender } from "./contenders.ts";
import { CHAT, type Context } from "./context.ts";
import { cpuRatios, noteOf, withBoth } from "./ratios.ts";
import { spread } from "./statistics.ts";
import type { Row } from "./table.ts";

const REPLICAS = 100;

export async function pools(context: Context): Promise<Row[]> {
	const ask = (contender: Contender) => contender.ask("json", CHAT);
	const toFloor = await withBoth(context, ["ganglion", "floor"], (pair) => cpuRatios(context, pair, ask));
	const floors = spread(toFloor.map(({ ratio }) => ratio)).median;
	const toSingle = await withBoth(
		context,
		["ganglion", "ganglion"],
		(pair) => cpuRatios(context, pair, ask),
		{ replicas: REPLICAS },
		{},
	);
	return [
		{
			label: `a pool of ${REPLICAS} replicas, over one address: added CPU a request / floor`,
			measured: spread(toSingle.map(({ ratio }) => (ratio - 1) * floors)),
			unit: "x",
			bar: 0.15,
			note: noteOf(toSingle),
		},
	];
}
