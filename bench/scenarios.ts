/** The scenarios of the bench. Each starts the contenders that it needs and stops them. */
import { attack } from "./attack.ts";
import { bundleSize } from "./bundle.ts";
import type { Contender, ContenderName, How, Mode } from "./contenders.ts";
import { CHAT, type Context, start } from "./context.ts";
import { devStart } from "./dev-start.ts";
import { type Ask, agentOf, ask, load, warmUp } from "./load.ts";
import { openStreams } from "./open-streams.ts";
import { paced } from "./paced.ts";
import { cpuMicroseconds } from "./process.ts";
import { spread } from "./statistics.ts";
import type { Row } from "./table.ts";

const CONNECTIONS = 16;
const MANY_CONNECTIONS = 64;
/** More streams of 100 events a second do not fit on one core. */
const STEADY_CONNECTIONS = 32;
/** Number of small answers; scenarios with larger answers set their own number. */
const WARM_UP_ANSWERS = 3_000;
const WARM_UP_MS = 30_000;
const TURNS = 300;
/** Events in one bulk answer of the engine. */
const CHUNKS = 204;

export type ScenarioName =
	| "json"
	| "peer"
	| "latency"
	| "stream"
	| "passthrough"
	| "native"
	| "paced"
	| "prompts"
	| "embeddings"
	| "memory"
	| "start"
	| "dev"
	| "features"
	| "speculation"
	| "leases"
	| "attack"
	| "bundle";

type Scenario = (context: Context) => Promise<Row[]>;

export const SCENARIOS: Record<ScenarioName, Scenario> = {
	json: async (context) => [
		...(await against(context, {
			label: "small JSON: CPU a request / floor",
			ask: (contender) => contender.ask("json", CHAT),
			bar: 2,
			stretch: 1.6,
		})),
		// Engines with a delay are more realistic: more requests then share one call of the account's object.
		...(await against(context, {
			label: `the same, ${MANY_CONNECTIONS} callers of an engine that takes 20 ms: CPU a request / floor`,
			ask: (contender) => contender.ask("late", CHAT),
			connections: MANY_CONNECTIONS,
		})),
	],
	async peer(context) {
		const peer = await context.field.start("portkey");
		if (!peer) return [];
		const own = await start(context, "ganglion");
		try {
			const ratios = await cpuRatios(context, [own, peer], (contender) => contender.ask("json", CHAT));
			return [
				{
					label: "small JSON: CPU a request / Portkey on Node",
					measured: spread(ratios.map(({ ratio }) => ratio)),
					unit: "x",
					bar: 0.5,
					stretch: 0.35,
					note: noteOf(ratios),
				},
			];
		} finally {
			await Promise.all([own.stop(), peer.stop()]);
		}
	},
	latency: addedLatency,
	stream: (context) => streams(context, "same dialect", "openai", { bar: 1.6, stretch: 1.3 }),
	passthrough: (context) =>
		streams(context, "same dialect, `passthrough` route", "passthrough", { bar: 1.6, stretch: 1.3 }),
	native: (context) => streams(context, "native frames", "native", { bar: 3.5, stretch: 2.5 }),
	paced,
	async prompts(context) {
		const rows: Row[] = [];
		for (const [size, bytes, bar, stretch] of [
			["100 KB", 100_000, undefined, undefined],
			["1 MB", 1_000_000, 2, 1.3],
		] as const) {
			const body = { messages: [{ role: "user", content: "All work and no play. ".repeat(bytes / 22) }] };
			rows.push(
				...(await against(context, {
					label: `${size} prompt: CPU a request / floor`,
					ask: (contender) => contender.ask("json", body),
					connections: 4,
					warmUpAnswers: 200,
					...(bar !== undefined && { bar, stretch }),
				})),
			);
		}
		return rows;
	},
	embeddings(context) {
		const input = Array.from({ length: 100 }, (_, i) => `Text number ${i} that wants to be a vector.`);
		return against(context, {
			label: "embeddings of 100 texts: CPU a request / floor",
			ask: (contender) => contender.ask("embeddings", { input, encoding_format: "float" }),
			connections: 4,
			warmUpAnswers: 300,
		});
	},
	memory: openStreams,
	start: coldStart,
	dev: devStart,
	features,
	speculation: (context) => admission(context, "speculation, over none", ["ganglion", "sequential"]),
	leases: async (context) => [
		...(await admission(context, "`LEDGER` leased, over exact", ["leased", "ganglion"])),
		...(await against(context, {
			label: "small JSON, `LEDGER` leased: CPU a request / floor",
			contender: "leased",
			ask: (contender) => contender.ask("json", CHAT),
			bar: 2,
			stretch: 1.6,
		})),
	],
	attack,
	bundle: async () => bundleSize(),
};

type AskOf = (contender: Contender) => Ask;

interface Comparison {
	label: string;
	/** Default: `ganglion`. */
	contender?: ContenderName;
	ask(contender: Contender): Ask;
	/** Number of events in one answer. */
	each?: number;
	warmUpAnswers?: number;
	connections?: number;
	bar?: number;
	stretch?: number;
}

/** Ratio of the gateway's CPU per answer to the floor's; and of one floor to another, the error of the method. */
async function against(
	context: Context,
	{ label, contender = "ganglion", ask, each = 1, warmUpAnswers, connections, bar, stretch }: Comparison,
): Promise<Row[]> {
	const ratiosOf = async (names: [ContenderName, ContenderName]): Promise<Ratio[]> => {
		const pair = [await start(context, names[0]), await start(context, names[1])] as const;
		try {
			return await cpuRatios(context, pair, ask, { warmUpAnswers, connections });
		} finally {
			await Promise.all(pair.map((contender) => contender.stop()));
		}
	};
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
			note: noteOf(own, each),
		},
	];
}

interface Ratio {
	ratio: number;
	/** Microseconds of CPU per answer of the first and of the second contender. */
	each: [number, number];
}

const noteOf = (ratios: readonly Ratio[], pieces = 1): string => {
	const of = (which: 0 | 1) =>
		(spread(ratios.map(({ each }) => each[which])).median / pieces).toFixed(pieces > 1 ? 1 : 0);
	return `${of(0)} to ${of(1)} us`;
};

/** Both contenders are under load at the same time, on one core. */
async function cpuRatios(
	{ rounds, seconds }: Context,
	[first, second]: readonly [Contender, Contender],
	askOf: AskOf,
	{
		warmUpAnswers = WARM_UP_ANSWERS,
		connections = CONNECTIONS,
	}: Pick<Comparison, "warmUpAnswers" | "connections"> = {},
): Promise<Ratio[]> {
	const pair = [first, second] as const;
	const loops = pair.map((contender) => ({ ask: askOf(contender), connections }));
	await warmUp(loops, warmUpAnswers, WARM_UP_MS);
	const ratios: Ratio[] = [];
	for (let round = 0; round < rounds; round++) {
		const before = pair.map(({ pid }) => cpuMicroseconds(pid));
		const counts = await load(loops, seconds * 1000);
		const [a = Number.NaN, b = Number.NaN] = pair.map(
			({ pid }, i) => (cpuMicroseconds(pid) - (before[i] ?? 0)) / (counts[i] ?? 0),
		);
		ratios.push({ ratio: a / b, each: [a, b] });
	}
	return ratios;
}

/** Streams whose events arrive all at once, a millisecond apart, and 10 ms apart as those of a real engine. */
async function streams(
	context: Context,
	label: string,
	how: How,
	bars: Pick<Comparison, "bar" | "stretch">,
): Promise<Row[]> {
	const body = { ...CHAT, stream: true, stream_options: { include_usage: true } };
	const common = { each: CHUNKS, warmUpAnswers: 100 };
	return [
		...(await against(context, {
			label: `stream of 200 events, ${label}: CPU a chunk / floor`,
			ask: (contender) => contender.ask("bulk", body, how),
			...common,
			...bars,
		})),
		...(await against(context, {
			label: `the same, a millisecond apart: CPU a chunk / floor`,
			ask: (contender) => contender.ask("stepped", body, how),
			...common,
		})),
		...(await against(context, {
			label: `the same, 10 ms apart: CPU a chunk / floor`,
			ask: (contender) => contender.ask("steady", body, how),
			...common,
			connections: STEADY_CONNECTIONS,
		})),
	];
}

/** One request at a time, on one connection per contender: with an engine that answers at once, and with a slower one. */
async function addedLatency(context: Context): Promise<Row[]> {
	return [
		await inTurn(context, "json", {
			label: "small JSON: added p50 above the floor, one connection",
			bar: 0.35,
			stretch: 0.15,
		}),
		await inTurn(context, "late", { label: "the same, of an engine that takes 20 ms" }),
	];
}

const ADDED = ["floor", "floor again", "ganglion"] as const;

/** Median milliseconds of the last contender over the first; and of the second over the first, the error of the method. */
async function inTurn(
	context: Context,
	mode: Mode,
	row: Pick<Row, "label" | "bar" | "stretch">,
	names: readonly [base: ContenderName, again: ContenderName, measured: ContenderName] = ADDED,
): Promise<Row> {
	const contenders = await Promise.all(names.map((name) => start(context, name)));
	const agents = contenders.map(() => agentOf(1));
	const rounds: number[][] = [];
	try {
		for (let round = 0; round <= context.rounds; round++) {
			const times: number[][] = contenders.map(() => []);
			for (let turn = 0; turn < TURNS; turn++)
				for (const [i, contender] of contenders.entries()) {
					const agent = agents[i];
					if (agent) times[i]?.push((await ask(contender.ask(mode, CHAT), agent)).totalMs);
				}
			// The first round is the warm-up.
			if (round > 0) rounds.push(times.map((each) => spread(each).median));
		}
	} finally {
		for (const agent of agents) agent.destroy();
		await Promise.all(contenders.map((contender) => contender.stop()));
	}
	const over = (which: number) => spread(rounds.map((round) => (round[which] ?? 0) - (round[0] ?? 0)));
	return {
		...row,
		measured: over(2),
		unit: "ms",
		error: over(1),
		note: `${names[0]} ${spread(rounds.map(([floor = 0]) => floor)).median.toFixed(2)} ms`,
	};
}

/** A way of admission over another one: CPU, and the median time of one connection. */
async function admission(
	context: Context,
	label: string,
	[first, second]: readonly [ContenderName, ContenderName],
): Promise<Row[]> {
	const pair = [await start(context, first), await start(context, second)] as const;
	const rows: Row[] = [];
	try {
		const ratios = await cpuRatios(context, pair, (contender) => contender.ask("json", CHAT));
		const measured = spread(ratios.map(({ ratio }) => ratio));
		rows.push({ label: `${label}: CPU a request`, measured, unit: "x", note: noteOf(ratios) });
	} finally {
		await Promise.all(pair.map((contender) => contender.stop()));
	}
	const names = [second, second, first] as const;
	for (const [mode, engine] of [
		["json", "an immediate engine"],
		["late", "an engine that takes 20 ms"],
	] as const)
		rows.push(await inTurn(context, mode, { label: `${label}: added time, ${engine}` }, names));
	return rows;
}

/** The cost of a feature: Ganglion with it over Ganglion without it, both under load at the same time. */
async function features(context: Context): Promise<Row[]> {
	const stream = { ...CHAT, stream: true, stream_options: { include_usage: true } };
	const responses = { input: CHAT.messages[0]?.content };
	const messages = { ...CHAT, max_tokens: 256 };
	const asks = (mode: Mode, body: object, how?: How) => (contender: Contender) =>
		contender.ask(mode, body, how);
	const json = asks("json", CHAT);
	const compared: [label: string, names: [ContenderName, ContenderName], asks: [AskOf, AskOf]][] = [
		["a token, over the operator's", ["ganglion", "operator"], [json, json]],
		["rates and a budget, over none", ["operator", "unlimited"], [json, json]],
		["`x-ganglion-single-flight`", ["ganglion", "ganglion"], [asks("json", CHAT, "single-flight"), json]],
		[
			"`/v1/responses`, over `/v1/chat/completions`",
			["ganglion", "ganglion"],
			[asks("json", responses, "responses"), json],
		],
		[
			"`/v1/messages`, over `/v1/chat/completions`",
			["ganglion", "ganglion"],
			[asks("json", messages, "messages"), json],
		],
		[
			"a second engine that a stream could go on with, over one",
			["ganglion", "ganglion"],
			[asks("bulk", stream, "two engines"), asks("bulk", stream)],
		],
		[
			"`passthrough`, over the ordinary stream",
			["ganglion", "ganglion"],
			[asks("bulk", stream, "passthrough"), asks("bulk", stream)],
		],
	];
	const rows: Row[] = [];
	for (const [label, [first, second], [askFirst, askSecond]] of compared) {
		const pair = [await start(context, first), await start(context, second)] as const;
		try {
			const askOf: AskOf = (contender) => (contender === pair[0] ? askFirst : askSecond)(contender);
			const warmUpAnswers = label.includes("stream") ? 100 : WARM_UP_ANSWERS;
			const ratios = await cpuRatios(context, pair, askOf, { warmUpAnswers });
			const measured = spread(ratios.map(({ ratio }) => ratio));
			rows.push({ label: `what it costs: ${label}`, measured, unit: "x", note: noteOf(ratios) });
		} finally {
			await Promise.all(pair.map((contender) => contender.stop()));
		}
	}
	return rows;
}

/** Time from the start of the process to its first answer. */
async function coldStart(context: Context): Promise<Row[]> {
	const times: Record<"floor" | "ganglion", number[]> = { floor: [], ganglion: [] };
	for (let round = 0; round < context.rounds; round++)
		for (const name of ["floor", "ganglion"] as const) {
			const begun = performance.now();
			const contender = await start(context, name);
			const agent = agentOf(1);
			await ask(contender.ask("json", CHAT), agent);
			times[name].push(performance.now() - begun);
			agent.destroy();
			await contender.stop();
		}
	return [
		{
			label: "cold start to the first answer, above the floor",
			measured: spread(times.ganglion.map((time, i) => time - (times.floor[i] ?? 0))),
			unit: "ms",
			note: `${names[0]} ${spread(times.floor).median.toFixed(0)} ms; with making a token`,
		},
	];
}
