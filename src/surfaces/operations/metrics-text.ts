/** Writes the text of `/metrics`: Prometheus's text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats). Pure. */
import { type BudgetPeriod, MICRO_NEURONS } from "../../accounts/admission.ts";
import type { LimitStatus } from "../../accounts/durable/limit-status.ts";
import type { RefusalsReport } from "../../accounts/durable/refusals.ts";
import type { UsageReport } from "../../accounts/durable/usage.ts";
import { counter, gauge, type Metric, type MetricSample } from "../../core/metric.ts";
import type { EngineReport } from "../../fleet/health.ts";
import { CIRCUITS, sumEngines } from "./engine-sums.ts";
import { poolMetrics } from "./pool-metrics.ts";
import { type StorageReport, storageMetrics } from "./storage-metrics.ts";
import type { Labelled, WorkerReports } from "./worker-reports.ts";

/** The reports of one account. */
export interface AccountReport {
	account: string;
	usage: UsageReport;
	/** By task and code. */
	refusals: RefusalsReport;
	limits: LimitStatus;
}

/** Engines and pools have a label `worker` if the gateway has several processes. */
interface MetricsInput extends Partial<WorkerReports> {
	accounts: readonly AccountReport[];
	unreachable?: readonly string[];
	storage?: StorageReport;
}

const PREFIX = "ganglion_";
/**
 * Returns the complete page. The format requires that all samples of a metric are adjacent, also those of different
 * accounts. `unreachable`: accounts whose objects did not answer. They have only the sample `up`, because a 0 in another
 * metric would look like a count.
 */
export function metricsText({
	accounts,
	unreachable = [],
	engines = [],
	pools = [],
	workers = [],
	metrics = [],
	storage,
}: MetricsInput): string {
	const ofEngines = (value: (engine: EngineReport) => number): MetricSample[] =>
		sumEngines(engines, engineKey).map((engine): MetricSample => {
			const { backend, replica, model, worker } = engine;
			return [{ backend, replica, model, ...(worker !== undefined && { worker }) }, value(engine)];
		});
	const ofAccounts = (value: (report: AccountReport) => number): MetricSample[] =>
		accounts.map((report): MetricSample => [{ account: report.account }, value(report)]);
	const ofRows = (value: (row: UsageReport["rows"][number]) => readonly MetricSample[]): MetricSample[] =>
		accounts.flatMap(({ account, usage }) =>
			usage.rows.flatMap((row) => {
				const { model = "", task = "", backend = "" } = row;
				const common = { account, model, task, backend };
				return value(row).map(([labels, amount]): MetricSample => [{ ...common, ...labels }, amount]);
			}),
		);
	const ofBudgets = (
		period: BudgetPeriod,
		value: (budget: LimitStatus["budgets"][number]) => number,
	): MetricSample[] =>
		accounts
			.flatMap(({ account, limits }) =>
				limits.budgets
					.filter((budget) => (budget.period ?? "day") === period)
					.map((budget): MetricSample => {
						const { key, name } = budget;
						const labels = { account, budget: key, ...(name !== undefined && { name }) };
						return [labels, value(budget) / MICRO_NEURONS];
					}),
			)
			.filter(([, amount]) => Number.isFinite(amount));
	const budgetMetrics = (period: BudgetPeriod, prefix: string): Metric[] => [
		gauge(
			`${prefix}_budget_neurons`,
			`Neurons that may be used in a UTC ${period}. Absent if there is no limit.`,
			ofBudgets(period, ({ microNeurons }) => microNeurons),
		),
		gauge(
			`${prefix}_spent_neurons`,
			`Neurons billed for this UTC ${period}.`,
			ofBudgets(period, ({ spentMicroNeurons }) => spentMicroNeurons),
		),
		gauge(
			`${prefix}_reserved_neurons`,
			`Neurons reserved for requests in progress that started in this UTC ${period}.`,
			ofBudgets(period, ({ reservedMicroNeurons }) => reservedMicroNeurons),
		),
	];
	const all: Metric[] = [
		gauge(
			"up",
			"1 if the Durable Object of the account answered. 0: this page has no other metrics of the account.",
			[...ofAccounts(() => 1), ...unreachable.map((account): MetricSample => [{ account }, 0])],
		),
		counter(
			"requests_total",
			"Requests that ended. failed: without an answer, and not billed. served: all others, including interrupted ones.",
			ofRows(({ failed, requests }) => [
				[{ outcome: "served" }, requests - failed],
				[{ outcome: "failed" }, failed],
			]),
		),
		counter(
			"refused_requests_total",
			"Requests that a limit of the account refused: a rate, a budget, the neurons of the plan. Other counters exclude them.",
			accounts.flatMap(({ account, refusals }) =>
				refusals.rows.map(({ code = 0, requests, task = "" }): MetricSample => {
					return [{ account, task, code: String(code) }, requests];
				}),
			),
		),
		counter(
			"tokens_total",
			"Text tokens, as billed. cached: the input tokens that the engine had in its cache.",
			ofRows(({ cachedTokens, inputTokens, outputTokens }) => [
				[{ kind: "input" }, inputTokens],
				[{ kind: "cached" }, cachedTokens],
				[{ kind: "output" }, outputTokens],
			]),
		),
		counter(
			"neurons_total",
			"Neurons billed.",
			ofRows(({ microNeurons }) => [[{}, microNeurons / MICRO_NEURONS]]),
		),
		counter(
			"overruns_total",
			"Requests that cost more than their reservation, because an engine produced more than was requested.",
			ofRows(({ overruns }) => [[{}, overruns]]),
		),
		gauge(
			"usage_truncated",
			"1 if the counters of the account have more series than the page may have. Some series are then missing.",
			ofAccounts(({ usage }) => (usage.truncated ? 1 : 0)),
		),
		gauge(
			"open_requests",
			"Requests in progress.",
			ofAccounts(({ limits }) => limits.open),
		),
		gauge(
			"open_leases",
			"Leases that isolates have not returned.",
			ofAccounts(({ limits }) => limits.leases),
		),
		gauge(
			"omitted_budgets",
			"Budgets of tokens that this page does not have, because the account has too many.",
			accounts.flatMap(({ account, limits }): MetricSample[] =>
				limits.omitted === undefined ? [] : [[{ account }, limits.omitted]],
			),
		),
		...budgetMetrics("day", "daily"),
		...budgetMetrics("month", "monthly"),
		gauge(
			"engine_circuit",
			"Circuit of the replica. 0: closed. 1: half-open, one request tests it. 2: open after repeated failures, called last.",
			ofEngines(({ circuit }) => CIRCUITS[circuit]),
		),
		counter(
			"engine_requests_total",
			"Calls of a replica since this process started.",
			ofEngines(({ requests }) => requests),
		),
		counter(
			"engine_failures_total",
			"Calls that failed because of the replica.",
			ofEngines(({ failures }) => failures),
		),
		counter(
			"engine_answers_total",
			"Calls whose answer started.",
			ofEngines(({ begun }) => begun),
		),
		counter(
			"engine_latency_seconds_total",
			"Sum of the seconds from each call to the start of its answer. Divide by engine_answers_total.",
			ofEngines(({ waitedMs }) => waitedMs / 1000),
		),
		...poolMetrics(pools, engines),
		...metrics,
		...(storage ? storageMetrics(storage) : []),
		gauge(
			"worker_up",
			"1 if the process of the gateway answered. 0: this page has no engines and pools of this process.",
			workers.map(({ worker, up }): MetricSample => [{ worker }, up ? 1 : 0]),
		),
	];
	return all.map(metricText).join("");
}

/** Two addresses of one host have the same labels. */
const engineKey = ({ backend, replica, model, worker }: Labelled<EngineReport>) => [
	backend,
	replica,
	model,
	worker,
];

function metricText({ name, type, help, samples }: Metric): string {
	if (samples.length === 0) return "";
	const full = `${PREFIX}${name}`;
	const lines = samples.map(
		([labels, value, suffix = ""]) => `${full}${suffix}{${labelsText(labels)}} ${value}\n`,
	);
	return `# HELP ${full} ${help.replace(/\\/g, "\\\\")}\n# TYPE ${full} ${type}\n${lines.join("")}`;
}

const labelsText = (labels: MetricSample[0]): string =>
	Object.entries(labels)
		.map(([name, value]) => `${name}="${escaped(value)}"`)
		.join(",");

const escaped = (value: string): string =>
	value.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n");
