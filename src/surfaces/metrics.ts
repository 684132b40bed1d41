/**
 * `GET /metrics` for Prometheus, of one account: a token's own, or `?account=` with the operator's credential. Text
 * format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats).
 *
 * Counters are sums over the days that the account's usage is kept; when the oldest day dies they step back, which
 * Prometheus takes for a restart.
 */
import { Hono } from "hono";
import { AiError } from "../errors.ts";
import { type Budget, MICRO_NEURONS } from "../objects/admission.ts";
import type { Standing } from "../objects/standing.ts";
import type { UsageReport } from "../objects/usage.ts";
import { limitsOf } from "../pipeline/admit.ts";
import type { AccountLimits, Services } from "../request.ts";
import { ACCOUNT_ID, type Bearer, bearerOf } from "./authenticate.ts";
import { methodNotAllowed } from "./routes.ts";

type Labels = Record<string, string>;
type Sample = readonly [labels: Labels, value: number];

interface Metric {
	/** Without the prefix. */
	name: string;
	type: "counter" | "gauge";
	help: string;
	samples: readonly Sample[];
}

const PREFIX = "ganglion_";

export function metrics({ ledgers, limits }: Services): Hono {
	const app = new Hono({ strict: false });
	app.get("/", async (c) => {
		const bearer = bearerOf(c);
		const account = accountFor(bearer, c.req.query("account"));
		const ledger = ledgers.of(account);
		await ledger.verify(bearer.credential, "read");
		const [usage, standing] = await Promise.all([
			ledger.usage({ by: ["model", "task", "backend"] }),
			ledger.standing({
				credential: bearer.credential,
				rates: [],
				budgets: budgetsOf(limitsOf(limits, account)),
			}),
		]);
		return new Response(metricsText(account, usage, standing), {
			headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" },
		});
	});
	methodNotAllowed(app, ["/"]);
	return app;
}

function accountFor({ account: own }: Bearer, asked: string | undefined): string {
	const account = asked ?? own;
	if (account === undefined) throw new AiError("invalidRequest", "account: say which, as ?account=");
	if (!ACCOUNT_ID.test(account)) throw new AiError("invalidRequest", "account: is no id of an account");
	if (own !== undefined && own !== account)
		throw new AiError("forbidden", "Authentication error: the token is for another account");
	return account;
}

/** Of an account without limits, too, so that what it spends today is told. */
function budgetsOf({ dailyNeurons, models }: AccountLimits): Budget[] {
	const budget = (key: string, neurons = Number.POSITIVE_INFINITY): Budget => ({
		key,
		microNeurons: neurons * MICRO_NEURONS,
		failure: "budgetExceeded",
	});
	return [
		budget("account", dailyNeurons),
		...[...models].flatMap(([id, limits]) =>
			limits.dailyNeurons === undefined ? [] : [budget(`model:${id}`, limits.dailyNeurons)],
		),
	];
}

/** Pure: the whole page. */
export function metricsText(account: string, usage: UsageReport, standing: Standing): string {
	const ofRows = (value: (row: UsageReport["rows"][number]) => readonly Sample[]): Sample[] =>
		usage.rows.flatMap((row) => {
			const { model = "", task = "", backend = "" } = row;
			const common = { account, model, task, backend };
			return value(row).map(([labels, amount]): Sample => [{ ...common, ...labels }, amount]);
		});
	const ofBudgets = (value: (budget: Standing["budgets"][number]) => number): Sample[] =>
		standing.budgets
			.map((budget): Sample => [{ account, budget: budget.key }, value(budget) / MICRO_NEURONS])
			.filter(([, amount]) => Number.isFinite(amount));
	const all: Metric[] = [
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
			samples: [[{ account }, usage.truncated ? 1 : 0]],
		},
		{
			name: "open_requests",
			type: "gauge",
			help: "Requests under way.",
			samples: [[{ account }, standing.open]],
		},
		{
			name: "daily_budget_neurons",
			type: "gauge",
			help: "Neurons that may be used in a UTC day; absent where there is no end.",
			samples: ofBudgets(({ microNeurons }) => microNeurons),
		},
		{
			name: "daily_spent_neurons",
			type: "gauge",
			help: "Neurons billed for this UTC day.",
			samples: ofBudgets(({ spentMicroNeurons }) => spentMicroNeurons),
		},
		{
			name: "daily_reserved_neurons",
			type: "gauge",
			help: "Neurons held for requests under way.",
			samples: ofBudgets(({ reservedMicroNeurons }) => reservedMicroNeurons),
		},
	];
	return all.map(metricText).join("");
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
