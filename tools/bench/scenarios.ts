/** The scenarios of the bench. Each starts the contenders that it needs and stops them. */
import { adapterLoads } from "./adapters.ts";
import { attack } from "./attack.ts";
import { batchUploads } from "./batch-uploads.ts";
import { batches, liveBesideBatch } from "./batches.ts";
import { streamsBesideQueries } from "./beside-queries.ts";
import { accountsBesideWrites } from "./beside-writes.ts";
import { bundleSize } from "./bundle.ts";
import { commandMemory } from "./command-memory.ts";
import { COALESCE_MS, type Contender, type ContenderName, type How, type Mode } from "./contenders.ts";
import { CHAT, type Context, STREAMED_CHAT, start, startBoth, stopAll } from "./context.ts";
import { devStart } from "./dev-start.ts";
import { gateways, logPages } from "./gateways.ts";
import { idleAccount } from "./idle-account.ts";
import { addedLatency, admission, coldStart } from "./latency.ts";
import { lean, PROMPT_SIZES, promptOf } from "./lean.ts";
import type { Ask } from "./load.ts";
import { accountsInTurn, commits, manyRoutes } from "./many.ts";
import { openStreams } from "./open-streams.ts";
import { paced } from "./paced.ts";
import { pools } from "./pools.ts";
import { quietLoad } from "./quiet-load.ts";
import { against, type Comparison, cpuRatios, noteOf, withBoth } from "./ratios.ts";
import { spread } from "./statistics.ts";
import { durableStores } from "./storage.ts";
import type { Row } from "./table.ts";
import { usageShapes } from "./usage-shapes.ts";
import { vectorIndexes } from "./vectors.ts";
import { severalWorkers } from "./workers.ts";
import { workersCpu } from "./workers-cpu.ts";

const MANY_CONNECTIONS = 64;
/** More streams of 100 events a second do not fit on one core. */
const STEADY_CONNECTIONS = 32;
/** Events in one bulk answer of the engine. */
const CHUNKS = 204;

type Scenario = (context: Context) => Promise<Row[]>;

export const SCENARIOS = {
	json: async (context) => [
		...(await against(context, {
			label: "small JSON: CPU a request / floor",
			ask: (contender) => contender.ask("json", CHAT),
			bar: 2,
			stretch: 1.6,
		})),
		// Engines with a delay are more realistic: more requests then share one call of the account's object.
		...(await against(context, {
			label: `small JSON, ${MANY_CONNECTIONS} callers of an engine that takes 20 ms: CPU a request / floor`,
			ask: (contender) => contender.ask("late", CHAT),
			connections: MANY_CONNECTIONS,
		})),
		...(await against(context, {
			label: "small JSON with `LEDGER` exact: CPU a request / floor",
			contender: "exact",
			ask: (contender) => contender.ask("json", CHAT),
			bar: 2.5,
		})),
	],
	async peer(context) {
		const peer = await context.field.start("portkey");
		if (!peer) return [];
		const [, own] = await startBoth(
			async () => peer,
			() => start(context, "ganglion"),
		);
		try {
			const ratios = await cpuRatios(context, [own, peer], (contender) => contender.ask("json", CHAT));
			return [
				{
					label: "small JSON: CPU a request / Portkey on Node",
					measured: spread(ratios.map(({ ratio }) => ratio)),
					unit: "x",
					bar: 0.45,
					stretch: 0.35,
					note: noteOf(ratios, { second: "Portkey" }),
				},
			];
		} finally {
			await stopAll([own, peer]);
		}
	},
	latency: addedLatency,
	stream: async (context) => [
		...(await streams(context, "same dialect", "openai", SAME_DIALECT)),
		...(await steady(context, "same dialect, with details of the usage", "openai", {
			mode: "detailed",
			...SAME_DIALECT.steady,
		})),
	],
	renamed: async (context) => [
		...(await streams(context, "same dialect, another name of the model", "renamed", TRANSLATED)),
		...(await steady(
			context,
			`same dialect, another name of the model, \`coalesce_ms\` ${COALESCE_MS}`,
			"coalesced",
			TRANSLATED.steady,
		)),
	],
	passthrough: (context) =>
		streams(context, "same dialect, `passthrough` route", "passthrough", SAME_DIALECT),
	native: (context) => streams(context, "native frames", "native", TRANSLATED),
	paced,
	pools,
	async prompts(context) {
		const rows: Row[] = [];
		for (const [size, bytes] of PROMPT_SIZES)
			rows.push(
				...(await against(context, {
					label: `${size} prompt: CPU a request / floor`,
					ask: (contender) => contender.ask("json", promptOf(bytes)),
					connections: 4,
					warmUpAnswers: 200,
				})),
			);
		return rows;
	},
	lean,
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
	upstream: responsesUpstream,
	leases: (context) => admission(context, "`LEDGER` leased, over exact", ["ganglion", "exact"]),
	accounts: accountsInTurn,
	routes: manyRoutes,
	commits,
	storage: durableStores,
	vectors: vectorIndexes,
	"beside-queries": streamsBesideQueries,
	batches,
	"beside-batch": liveBesideBatch,
	"batch-uploads": batchUploads,
	adapters: adapterLoads,
	attack,
	gateways,
	logs: logPages,
	workers: severalWorkers,
	"workers-cpu": workersCpu,
	"usage-shapes": usageShapes,
	"quiet-load": quietLoad,
	"command-memory": commandMemory,
	"idle-account": idleAccount,
	"beside-writes": accountsBesideWrites,
	bundle: async () => bundleSize(),
} satisfies Record<string, Scenario>;
export type ScenarioName = keyof typeof SCENARIOS;

const STREAM_LOAD = { each: CHUNKS, warmUpAnswers: 100 };

type AskOf = (contender: Contender) => Ask;

type StreamBars = Record<"bulk" | "steady", Pick<Comparison, "bar" | "stretch">>;
const SAME_DIALECT: StreamBars = { bulk: { bar: 2.5, stretch: 2 }, steady: { bar: 1.7, stretch: 1.45 } };
const TRANSLATED: StreamBars = { bulk: { bar: 5.5, stretch: 4.5 }, steady: { bar: 2.8, stretch: 2.5 } };

/** Streams whose events arrive all at once, a millisecond apart, and 10 ms apart as those of a real engine. */
async function streams(
	context: Context,
	label: string,
	how: How,
	{ bulk, steady: bars }: StreamBars,
): Promise<Row[]> {
	return [
		...(await against(context, {
			label: `stream of 200 events, ${label}: CPU a chunk / floor`,
			ask: (contender) => contender.ask("bulk", STREAMED_CHAT, how),
			...STREAM_LOAD,
			...bulk,
		})),
		...(await against(context, {
			label: `stream of 200 events, ${label}, a millisecond apart: CPU a chunk / floor`,
			ask: (contender) => contender.ask("stepped", STREAMED_CHAT, how),
			...STREAM_LOAD,
		})),
		...(await steady(context, label, how, bars)),
	];
}

/** A stream at the speed of a real engine. */
function steady(
	context: Context,
	label: string,
	how: How,
	{ mode = "steady", ...bars }: Pick<Comparison, "bar" | "stretch"> & { mode?: Mode },
): Promise<Row[]> {
	return against(context, {
		label: `stream of 200 events, ${label}, 10 ms apart: CPU a chunk / floor`,
		ask: (contender) => contender.ask(mode, STREAMED_CHAT, how),
		...STREAM_LOAD,
		...bars,
		connections: STEADY_CONNECTIONS,
	});
}

/** A chat through an engine's Responses API over the same chat through its chat API, both under load at the same time. */
async function responsesUpstream(context: Context): Promise<Row[]> {
	const compared: [
		label: string,
		responses: AskOf,
		chat: AskOf,
		loading: Pick<Comparison, "warmUpAnswers">,
	][] = [
		[
			"a chat through an engine's Responses API, over its chat API: CPU a request",
			(contender) => contender.ask("responses", CHAT),
			(contender) => contender.ask("json", CHAT),
			{},
		],
		[
			"a stream of 200 events through an engine's Responses API, over one with another name of the model",
			(contender) => contender.ask("responses-bulk", STREAMED_CHAT),
			(contender) => contender.ask("bulk", STREAMED_CHAT, "renamed"),
			{ warmUpAnswers: 100 },
		],
	];
	const rows: Row[] = [];
	for (const [label, responses, chat, loading] of compared) {
		const ratios = await withBoth(context, ["ganglion", "ganglion"], (pair) =>
			cpuRatios(context, pair, (contender) => (contender === pair[0] ? responses : chat)(contender), loading),
		);
		const measured = spread(ratios.map(({ ratio }) => ratio));
		rows.push({ label, measured, unit: "x", bar: 1.3, note: noteOf(ratios) });
	}
	return rows;
}

/** The cost of a feature: Ganglion with it over Ganglion without it, both under load at the same time. */
async function features(context: Context): Promise<Row[]> {
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
			[asks("bulk", STREAMED_CHAT, "two engines"), asks("bulk", STREAMED_CHAT)],
		],
		[
			"a stream with another name of the model, over one that passes through",
			["ganglion", "ganglion"],
			[asks("bulk", STREAMED_CHAT, "renamed"), asks("bulk", STREAMED_CHAT)],
		],
	];
	const rows: Row[] = [];
	for (const [label, names, [askFirst, askSecond]] of compared) {
		const ratios = await withBoth(context, names, (pair) => {
			const askOf: AskOf = (contender) => (contender === pair[0] ? askFirst : askSecond)(contender);
			return cpuRatios(context, pair, askOf, label.includes("stream") ? { warmUpAnswers: 100 } : {});
		});
		const measured = spread(ratios.map(({ ratio }) => ratio));
		rows.push({ label: `what it costs: ${label}`, measured, unit: "x", note: noteOf(ratios) });
	}
	return rows;
}
