/**
 * `npm run simulate`: every policy of pools on a trace, in a model of a cluster. The choice is the gateway's own code.
 *
 *     npm run simulate -- --trace conversation_trace.jsonl --replicas 8
 *     npm run simulate -- --decisions
 *     npm run simulate -- --replicas 1000 --copies 125 --minutes 2 --policies expected,all-compared
 */
import { readOptions } from "../../scripts/options.ts";
import { stopWith } from "../../scripts/stop-with.ts";
import { Random } from "../soak/random.ts";
import { measureDecisions } from "./decisions.ts";
import { SIMULATED } from "./policies.ts";
import { simulateShards } from "./shards.ts";
import { syntheticTrace } from "./synthetic-trace.ts";
import { table, tableRow } from "./table.ts";
import { overlay, readTrace } from "./trace.ts";

const values = readOptions(
	{
		trace: { type: "string" },
		replicas: { type: "string", default: "8" },
		policies: { type: "string", default: Object.keys(SIMULATED).join(",") },
		seed: { type: "string", default: "1" },
		requests: { type: "string", default: "12000" },
		copies: { type: "string", default: "1" },
		minutes: { type: "string", default: "600" },
		"prefill-speed": { type: "string", default: "8000" },
		"cache-blocks": { type: "string", default: "1000" },
		isolates: { type: "string", default: "1" },
		"exchange-ms": { type: "string" },
		shards: { type: "string", default: "1" },
		learned: { type: "boolean", default: false },
		estimate: { type: "string" },
		decisions: { type: "boolean", default: false },
	},
	`npm run simulate -- [options]

  --trace FILE        in Mooncake's format, one JSON object on each line; without it a synthetic trace
  --seed N            of the synthetic trace (1)
  --requests N        of the synthetic trace (12000)
  --copies N          lay the trace over itself, with other prompts (1)
  --minutes N         use only the beginning of the trace (600)
  --replicas N        engines (8)
  --policies A,B      of ${Object.keys(SIMULATED).join(", ")}
  --prefill-speed N   uncached prompt tokens per second of an engine (8000)
  --cache-blocks N    blocks of 512 tokens in the cache of an engine (1000)
  --isolates N        isolates that send to the same engines (1)
  --exchange-ms N     time between two exchanges of loads with the other isolates; without it, none
  --shards N          parts of the pool, each with an object of its own (1)
  --learned           the pool learns the sizes of the caches from the cached tokens that engines report; without it, it knows them
  --estimate P        the pool reads each prompt's tokens with an error of up to P percent, up or down
  --decisions         only the cost of one decision, by the number of replicas`,
);

if (values.decisions) {
	for (const { replicas, us, ratio } of measureDecisions([10, 100, 1_000, 5_000]))
		console.log(
			`${String(replicas).padStart(5)} replicas: ${us.toFixed(1)} us a decision, x${ratio.toFixed(2)}`,
		);
	process.exit();
}
const number = (name: "replicas" | "seed" | "requests" | "copies" | "minutes"): number => positive(name);
const names = values.policies.split(",");
const unknown = names.filter((name) => !(name in SIMULATED));
if (unknown.length > 0)
	stopWith(`No such policy: ${unknown.join(", ")}. There are: ${Object.keys(SIMULATED).join(", ")}`);
const single =
	values.trace === undefined
		? syntheticTrace({ seed: number("seed"), requests: number("requests") })
		: readTrace(values.trace);
const trace = overlay(single, { copies: number("copies"), untilMs: number("minutes") * 60_000 });
const options = {
	replicas: number("replicas"),
	prefillSpeed: positive("prefill-speed"),
	cacheBlocks: positive("cache-blocks"),
	isolates: positive("isolates"),
	knownCache: !values.learned,
	...(values.estimate !== undefined && { estimate: withError(positive("estimate")) }),
	...(values["exchange-ms"] !== undefined && { exchangeMs: positive("exchange-ms") }),
};
console.log(`${trace.length} requests, ${options.replicas} replicas. Times to the first token.`);
const rows = names.flatMap((name) => {
	const policy = SIMULATED[name];
	if (!policy) return [];
	const outcome = simulateShards(trace, positive("shards"), { ...options, policy });
	if (options.exchangeMs !== undefined)
		console.log(`${name}: ${outcome.exchangesPerSecond.toFixed(1)} exchanges a second at each object`);
	return [tableRow(name, outcome)];
});
console.log(table(rows));

function positive(name: keyof typeof values): number {
	const value = Number(values[name]);
	return Number.isFinite(value) && value > 0 ? value : stopWith(`--${name}: expected a positive number`);
}

/** The same errors at each run. */
function withError(percent: number): (tokens: number) => number {
	const random = new Random(number("seed"));
	return (tokens) => Math.max(1, Math.round(tokens * (1 + ((2 * random.next() - 1) * percent) / 100)));
}
