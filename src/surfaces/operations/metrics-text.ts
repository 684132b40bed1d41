/** Writes the text of `/metrics`: Prometheus's text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats). Pure. */
import { type BudgetPeriod, MICRO_NEURONS } from "../../accounts/admission.ts";
import type { LimitStatus } from "../../accounts/durable/limit-status.ts";
import type { RefusalsReport } from "../../accounts/durable/refusals.ts";
import type { UsageReport } from "../../accounts/durable/usage.ts";
import type { EngineReport } from "../../fleet/health.ts";

type Labels = Record<string, string>;
type Sample = readonly [labels: Labels, value: number];

interface Metric {
	/** Without `PREFIX`. */
	name: string;
	type: "counter" | "gauge";
	help: string;
	samples: readonly Sample[];
}

/** The reports of one account. */
export interface AccountReport {
	account: string;
	usage: UsageReport;
	/** By task and code. */
	refusals: RefusalsReport;
	limits: LimitStatus;
}

const PREFIX = "ganglion_";
/**
 * Returns the complete page. The format requires that all samples of a metric are adjacent, also those of different
 * accounts. `unreachable`: accounts whose objects did not answer. They have only the sample `up`, because a 0 in another
 * metric would look like a count.
 */
export function metricsText(
	accounts: readonly AccountReport[],
	unreachable: readonly string[] = [],
	engines: readonly EngineReport[] = [],
): string {
	const ofEngines = (value: (engine: EngineReport) => number): Sample[] =>
		sumByReplica(engines).map((engine): Sample => {
			const { backend, replica, model } = engine;
			return [{ backend, replica, model }, value(engine)];
		});
	const ofAccounts = (value: (report: AccountReport) => number): Sample[] =>
		accounts.map((report): Sample => [{ account: report.account }, value(report)]);
	const ofRows = (value: (row: UsageReport["rows"][number]) => readonly Sample[]): Sample[] =>
		accounts.flatMap(({ account, usage }) =>
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
		accounts
			.flatMap(({ account, limits }) =>
				limits.budgets
					.filter((budget) => (budget.period ?? "day") === period)
					.map((budget): Sample => [{ account, budget: budget.key }, value(budget) / MICRO_NEURONS]),
			)
			.filter(([, amount]) => Number.isFinite(amount));
	const budgetMetrics = (period: BudgetPeriod, prefix: string): Metric[] => [
		{
			name: `${prefix}_budget_neurons`,
			type: "gauge",
			help: `Neurons that may be used in a UTC ${period}. Absent if there is no limit.`,
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
			help: `Neurons reserved for requests in progress that started in this UTC ${period}.`,
			samples: ofBudgets(period, ({ reservedMicroNeurons }) => reservedMicroNeurons),
		},
	];
	const all: Metric[] = [
		{
			name: "up",
			type: "gauge",
			help: "1 if the Durable Object of the account answered. 0: this page has no other metrics of the account.",
			samples: [...ofAccounts(() => 1), ...unreachable.map((account): Sample => [{ account }, 0])],
		},
		{
			name: "requests_total",
			type: "counter",
			help: "Requests that ended. failed: without an answer, and not billed. served: all others, including interrupted ones.",
			samples: ofRows(({ failed, requests }) => [
				[{ outcome: "served" }, requests - failed],
				[{ outcome: "failed" }, failed],
			]),
		},
		{
			name: "refused_requests_total",
			type: "counter",
			help: "Requests that a limit of the account refused: a rate, a budget, the neurons of the plan. Other counters exclude them.",
			samples: accounts.flatMap(({ account, refusals }) =>
				refusals.rows.map(({ code = 0, requests, task = "" }): Sample => {
					return [{ account, task, code: String(code) }, requests];
				}),
			),
		},
		{
			name: "tokens_total",
			type: "counter",
			help: "Text tokens, as billed. cached: the input tokens that the engine had in its cache.",
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
			help: "Requests that cost more than their reservation, because an engine produced more than was requested.",
			samples: ofRows(({ overruns }) => [[{}, overruns]]),
		},
		{
			name: "usage_truncated",
			type: "gauge",
			help: "1 if the counters of the account have more series than the page may have. Some series are then missing.",
			samples: ofAccounts(({ usage }) => (usage.truncated ? 1 : 0)),
		},
		{
			name: "open_requests",
			type: "gauge",
			help: "Requests in progress.",
			samples: ofAccounts(({ limits }) => limits.open),
		},
		{
			name: "open_leases",
			type: "gauge",
			help: "Leases that isolates have not returned.",
			samples: ofAccounts(({ limits }) => limits.leases),
		},
		...budgetMetrics("day", "daily"),
		...budgetMetrics("month", "monthly"),
		{
			name: "engine_circuit",
			type: "gauge",
			help: "Circuit of the replica. 0: closed. 1: half-open, one request tests it. 2: open after repeated failures, called last.",
			samples: ofEngines(({ circuit }) => CIRCUITS[circuit]),
		},
		{
			name: "engine_requests_total",
			type: "counter",
			help: "Calls of a replica since this process started.",
			samples: ofEngines(({ requests }) => requests),
		},
		{
			name: "engine_failures_total",
			type: "counter",
			help: "Calls that failed because of the replica.",
			samples: ofEngines(({ failures }) => failures),
		},
		{
			name: "engine_answers_total",
			type: "counter",
			help: "Calls whose answer started.",
			samples: ofEngines(({ begun }) => begun),
		},
		{
			name: "engine_latency_seconds_total",
			type: "counter",
			help: "Sum of the seconds from each call to the start of its answer. Divide by engine_answers_total.",
			samples: ofEngines(({ waitedMs }) => waitedMs / 1000),
		},
	];
	return all.map(metricText).join("");
}

const CIRCUITS: Readonly<Record<EngineReport["circuit"], number>> = { closed: 0, "half-open": 1, open: 2 };

/** Two addresses of one host have the same labels. Their numbers are added, and the worse circuit is used. */
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
