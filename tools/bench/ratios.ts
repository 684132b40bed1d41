/** CPU of two contenders that are under load at the same time on one core, as a ratio. */
import type { Contender, ContenderName, GanglionOptions } from "./contenders.ts";
import { type Context, start, startBoth, stopAll } from "./context.ts";
import { type Ask, type Loop, load, warmUp } from "./load.ts";
import { cpuMicroseconds } from "./process.ts";
import { spread } from "./statistics.ts";
import type { Row } from "./table.ts";

const CONNECTIONS = 16;
/** Number of small answers; scenarios with larger answers set their own number. */
export const WARM_UP_ANSWERS = 3_000;
const WARM_UP_MS = 30_000;

interface Load {
	warmUpAnswers?: number | undefined;
	/** The longest warm-up, in milliseconds. */
	warmUpMs?: number | undefined;
	connections?: number | undefined;
	/** Runs both loops for a time, and counts their answers. Default: the load generator on Node. */
	loader?: ((loops: readonly Loop[], milliseconds: number) => Promise<number[]>) | undefined;
}

export interface Comparison extends Load {
	label: string;
	/** Default: `ganglion`. */
	contender?: ContenderName;
	options?: Pick<GanglionOptions, "upstream">;
	ask(contender: Contender): Ask;
	/** Number of events in one answer. */
	each?: number;
	bar?: number;
	stretch?: number;
	note?: string;
}

/** Ratio of the gateway's CPU per answer to the floor's; and of one floor to another, the error of the method. */
export async function against(
	context: Context,
	{ label, contender = "ganglion", options, ask, each = 1, bar, stretch, note, ...loading }: Comparison,
): Promise<Row[]> {
	const ratiosOf = (names: [ContenderName, ContenderName]): Promise<Ratio[]> =>
		withBoth(context, names, (pair) => cpuRatios(context, pair, ask, loading), ...(options ? [options] : []));
	const error = await ratiosOf(["floor again", "floor"]);
	const own = await ratiosOf([contender, "floor"]);
	return [
		{
			label,
			measured: spread(own.map(({ ratio }) => ratio)),
			unit: "x",
			error: spread(error.map(({ ratio }) => ratio)),
			...(bar !== undefined && { bar }),
			...(stretch !== undefined && { stretch }),
			note: [noteOf(own, { pieces: each, second: "floor" }), note].filter(Boolean).join("; "),
		},
	];
}

/** Starts two contenders, and stops them at the end. */
export async function withBoth<T>(
	context: Context,
	[first, second]: readonly [ContenderName, ContenderName],
	work: (pair: [Contender, Contender]) => Promise<T>,
	...[options, optionsOfSecond = options]: GanglionOptions[]
): Promise<T> {
	const pair = await startBoth(
		() => start(context, first, options),
		() => start(context, second, optionsOfSecond),
	);
	try {
		return await work(pair);
	} finally {
		await stopAll(pair);
	}
}

export interface Ratio {
	ratio: number;
	/** Microseconds of CPU per answer of the first and of the second contender. */
	each: [number, number];
}

/** @param second what the second contender is. Default: what the row's label names after "over". */
export const noteOf = (ratios: readonly Ratio[], { pieces = 1, second = "over" } = {}): string => {
	const of = (which: 0 | 1) =>
		(spread(ratios.map(({ each }) => each[which])).median / pieces).toFixed(pieces > 1 ? 1 : 0);
	return `${of(0)} us, ${second} ${of(1)} us`;
};

/** Both contenders are under load at the same time, on one core. */
export async function cpuRatios(
	{ rounds, seconds }: Context,
	pair: readonly [Contender, Contender],
	askOf: (contender: Contender) => Loop["ask"],
	{
		warmUpAnswers = WARM_UP_ANSWERS,
		warmUpMs = WARM_UP_MS,
		connections = CONNECTIONS,
		loader = load,
	}: Load = {},
): Promise<Ratio[]> {
	const loops = pair.map((contender) => ({ ask: askOf(contender), connections }));
	await warmUp(loops, warmUpAnswers, warmUpMs);
	const ratios: Ratio[] = [];
	for (let round = 0; round < rounds; round++) {
		const before = pair.map(({ pid }) => cpuMicroseconds(pid));
		const counts = await loader(loops, seconds * 1000);
		const [a = Number.NaN, b = Number.NaN] = pair.map(
			({ pid }, i) => (cpuMicroseconds(pid) - (before[i] ?? 0)) / (counts[i] ?? 0),
		);
		ratios.push({ ratio: a / b, each: [a, b] });
	}
	return ratios;
}
