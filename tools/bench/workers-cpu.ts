/** CPU an answer of `serve --workers 2` over `--workers 1`, with all their processes, both under load at the same time. */
import { type Context, startBoth, stopAll } from "./context.ts";
import { load, warmUp } from "./load.ts";
import { exactCpuMicroseconds, treeOf } from "./process.ts";
import { noteOf, type Ratio } from "./ratios.ts";
import { spread } from "./statistics.ts";
import type { Row } from "./table.ts";
import { CHAT_MODES, type Gateway, startGateway } from "./workers.ts";

/** More than workers, because each connection stays with its worker. */
const CONNECTIONS = 16;
const WARM_UP_ANSWERS = { json: 3_000, bulk: 150 };
const WARM_UP_MS = 60_000;

export async function workersCpu(context: Context): Promise<Row[]> {
	const error = await ratiosOf(context, [1, 1]);
	const own = await ratiosOf(context, [2, 1]);
	return CHAT_MODES.map((mode) => ({
		label: `${mode === "json" ? "small JSON" : "streams of 200 events"}, two workers over one: CPU an answer`,
		measured: spread(own[mode].map(({ ratio }) => ratio)),
		unit: "x",
		error: spread(error[mode].map(({ ratio }) => ratio)),
		...{ bar: 1.08, stretch: 1.03 },
		note: `${noteOf(own[mode])}; all processes of the command`,
	}));
}

/** One for each round. */
type Rounds = Record<(typeof CHAT_MODES)[number], Ratio[]>;

async function ratiosOf(context: Context, [first, second]: readonly [number, number]): Promise<Rounds> {
	const gateways = await startBoth(
		() => startGateway(context, first, `cpu-${first}-${second}`),
		() => startGateway(context, second, `cpu-${first}-${second}-base`),
	);
	const rounds: Rounds = { json: [], bulk: [] };
	try {
		for (const mode of CHAT_MODES) {
			const loops = gateways.map(({ ask }) => ({ ask: ask(mode), connections: CONNECTIONS }));
			await warmUp(loops, WARM_UP_ANSWERS[mode], WARM_UP_MS);
			for (let round = 0; round < context.rounds; round++) {
				const before = gateways.map(cpuOf);
				const answers = await load(loops, context.seconds * 1000);
				const [a = Number.NaN, b = Number.NaN] = gateways.map(
					(gateway, i) => (cpuOf(gateway) - (before[i] ?? 0)) / (answers[i] ?? 0),
				);
				rounds[mode].push({ ratio: a / b, each: [a, b] });
			}
		}
		return rounds;
	} finally {
		await stopAll(gateways);
	}
}

/** Of the command, its runtimes and its guards. */
const cpuOf = ({ pid }: Gateway): number =>
	treeOf(pid).reduce((sum, { pid: each }) => sum + exactCpuMicroseconds(each), 0);
