/** The page of `/metrics`, as Prometheus reads it. Pure. Text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats). */
import { type BudgetPeriod, MICRO_NEURONS } from "../../accounts/admission.ts";
import type { LimitStatus } from "../../accounts/durable/limit-status.ts";
import type { RefusalsReport } from "../../accounts/durable/refusals.ts";
import type { UsageReport } from "../../accounts/durable/usage.ts";
import type { EngineReport } from "../../fleet/health.ts";

type Labels = Record<string, string>;
type Sample = readonly [labels: Labels, value: number];

interface Metric {
	/** Without the prefix. */
	name: string;
	type: "counter" | "gauge";
	help: string;
	samples: readonly Sample[];
}

/** What is known of one account. */
export interface AccountFacts {
	account: string;
	usage: UsageReport;
	/** By task and code. */
	refused: RefusalsReport;
	standing: LimitStatus;
}

const PREFIX = "ganglion_";
/**
 * The whole page. The samples of a family stand together, whatever account they are of. `down`: the accounts whose objects
 * could not be reached. They have no other samples, because a 0 would be taken for a count.
 */
export function metricsText(
	facts: readonly AccountFacts[],
	down: readonly string[] = [],
	engines: readonly EngineReport[] = [],
): string {
	const ofEngines = (value: (engine: EngineReport) => number): Sample[] =>
		sumByReplica(engines).map((engine): Sample => {
			const { backend, replica, model } = engine;
			return [{ backend, replica, model }, value(engine)];
		});
	const ofEach = (value: (of: AccountFacts) => number): Sample[] =>
		facts.map((of): Sample => [{ account: of.account }, value(of)]);
	const ofRows = (value: (row: UsageReport["rows"][number]) => readonly Sample[]): Sample[] =>
		facts.flatMap(({ account, usage }) =>
			usage.rows.flatMap((row) => {
				const { model = "", task = "", backend = "" } = row;
				const common = { account, model, task, backend };
				return value(row).map(([labels, amount]): Sample => [{ ...common, ...labels }, amount]);
			}),
		);
	const ofBudgets = (
		period: BudgetPeriod,
		value: (budget: LimitStatus["budgets"][number]) => number,
	): Sample[] =>
		facts
			.flatMap(({ account, standing }) =>
				standing.budgets
					.filter((budget) => (budget.period ?? "day") === period)
					.map((budget): Sample => [{ account, budget: budget.key }, value(budget) / MICRO_NEURONS]),
			)
			.filter(([, amount]) => Number.isFinite(amount));
	const budgetMetrics = (period: BudgetPeriod, prefix: string): Metric[] => [
		{
			name: `${prefix}_budget_neurons`,
			type: "gauge",
			help: `Neurons that may be used in a UTC ${period}; absent where there is no limit.`,
			samples: ofBudgets(period, ({ microNeurons }) => microNeurons),
		},
		{
			name: `${prefix}_spent_neurons`,
			type: "gauge",
			help: `Neurons billed for this UTC ${period}.`,
			samples: ofBudgets(period, ({ spentMicroNeurons }) => spentMicroNeurons),
		},
		{
			name: `${prefix}_reserved_neurons`,
			type: "gauge",
			help: `Neurons reserved for requests under way that began in this UTC ${period}.`,
			samples: ofBudgets(period, ({ reservedMicroNeurons }) => reservedMicroNeurons),
		},
	];
	const all: Metric[] = [
		{
			name: "up",
			type: "gauge",
			help: "1 where the account could be asked. Of one with 0 there is nothing else on this page.",
			samples: [...ofEach(() => 1), ...down.map((account): Sample => [{ account }, 0])],
		},
		{
			name: "requests_total",
			type: "counter",
			help: "Requests that ended. failed: without an answer, and not billed. served: all others, cut ones among them.",
			samples: ofRows(({ failed, requests }) => [
				[{ outcome: "served" }, requests - failed],
				[{ outcome: "failed" }, failed],
			]),
		},
		{
			name: "refused_requests_total",
			type: "counter",
			help: "Requests that a limit of the account refused: a rate, a budget, the plan's neurons. In no other counter.",
			samples: facts.flatMap(({ account, refused }) =>
				refused.rows.map(({ code = 0, requests, task = "" }): Sample => {
					return [{ account, task, code: String(code) }, requests];
				}),
			),
		},
		{
			name: "tokens_total",
			type: "counter",
			help: "Tokens of text, as billed. cached: those of input that the engine had cached.",
			samples: ofRows(({ cachedTokens, inputTokens, outputTokens }) => [
				[{ kind: "input" }, inputTokens],
				[{ kind: "cached" }, cachedTokens],
				[{ kind: "output" }, outputTokens],
			]),
		},
		{
			name: "neurons_total",
			type: "counter",
			help: "Neurons billed.",
			samples: ofRows(({ microNeurons }) => [[{}, microNeurons / MICRO_NEURONS]]),
		},
		{
			name: "overruns_total",
			type: "counter",
			help: "Requests that cost more than was reserved for them, because an engine gave more than it was asked for.",
			samples: ofRows(({ overruns }) => [[{}, overruns]]),
		},
		{
			name: "usage_truncated",
			type: "gauge",
			help: "1 where the counters above have more series than a page holds, and some are left out.",
			samples: ofEach(({ usage }) => (usage.truncated ? 1 : 0)),
		},
		{
			name: "open_requests",
			type: "gauge",
			help: "Requests under way.",
			samples: ofEach(({ standing }) => standing.open),
		},
		...budgetMetrics("day", "daily"),
		...budgetMetrics("month", "monthly"),
		{
			name: "engine_circuit",
			type: "gauge",
			help: "0: the replica is asked. 1: one request tries it. 2: it failed again and again, and is asked last.",
			samples: ofEngines(({ circuit }) => CIRCUITS[circuit]),
		},
		{
			name: "engine_requests_total",
			type: "counter",
			help: "Calls of a replica, by this process since its start.",
			samples: ofEngines(({ requests }) => requests),
		},
		{
			name: "engine_failures_total",
			type: "counter",
			help: "Calls that failed by the replica's fault.",
			samples: ofEngines(({ failures }) => failures),
		},
		{
			name: "engine_answers_total",
			type: "counter",
			help: "Calls that began to answer.",
			samples: ofEngines(({ begun }) => begun),
		},
		{
			name: "engine_latency_seconds_total",
			type: "counter",
			help: "Seconds from calls to the beginning of their answers. Divide by engine_answers_total.",
			samples: ofEngines(({ waitedMs }) => waitedMs / 1000),
		},
	];
	return all.map(metricText).join("");
}

const CIRCUITS: Readonly<Record<EngineReport["circuit"], number>> = { closed: 0, "half-open": 1, open: 2 };

/** Two addresses of one host have one label: their numbers are added, and the worse circuit is shown. */
function sumByReplica(engines: readonly EngineReport[]): EngineReport[] {
	const sums = new Map<string, EngineReport>();
	for (const engine of engines) {
		const key = JSON.stringify([engine.backend, engine.replica, engine.model]);
		const sum = sums.get(key);
		sums.set(
			key,
			sum
				? {
						...sum,
						circuit: CIRCUITS[engine.circuit] > CIRCUITS[sum.circuit] ? engine.circuit : sum.circuit,
						requests: sum.requests + engine.requests,
						failures: sum.failures + engine.failures,
						begun: sum.begun + engine.begun,
						waitedMs: sum.waitedMs + engine.waitedMs,
					}
				: engine,
		);
	}
	return [...sums.values()];
}

function metricText({ name, type, help, samples }: Metric): string {
	if (samples.length === 0) return "";
	const full = `${PREFIX}${name}`;
	const lines = samples.map(([labels, value]) => `${full}{${labelsText(labels)}} ${value}\n`);
	return `# HELP ${full} ${help.replace(/\\/g, "\\\\")}\n# TYPE ${full} ${type}\n${lines.join("")}`;
}

const labelsText = (labels: Labels): string =>
	Object.entries(labels)
		.map(([name, value]) => `${name}="${escaped(value)}"`)
		.join(",");

const escaped = (value: string): string =>
	value.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n");
