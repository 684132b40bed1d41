/**
 * `GET /metrics` for Prometheus: of a token's account, or, with the operator's credential, of each that `?account=` names
 * (several times for several), else of the first hundred accounts, and of the engines.
 *
 * Counters are sums over the days that the account's usage is kept; when the oldest day dies they step back, which
 * Prometheus takes for a restart.
 */
import type { Context } from "hono";
import { type Budget, MICRO_NEURONS } from "../../accounts/admission.ts";
import { AiError, toAiError } from "../../core/errors.ts";
import { ACCOUNT_ID } from "../../http/authenticate.ts";
import type { Bearer } from "../../http/credentials.ts";
import { v4Failure } from "../../http/failure-formats.ts";
import { type Call, defineRoutes, type Route } from "../../http/route.ts";
import { type AccountLimits, limitsOf, type NeuronLimits } from "../../pipeline/limits.ts";
import type { Services } from "../../pipeline/services.ts";
import { type AccountFacts, metricsText } from "./metrics-text.ts";

/** Each is three subrequests, and one more where a token has to be verified, whose account is the only one. */
const MAX_ACCOUNTS = 100;

export const metricsRoutes: readonly Route[] = defineRoutes(
	{ bases: [{ path: "" }], tag: "Operations", failure: v4Failure },
	[
		{
			method: "GET",
			path: "/metrics",
			summary: "Counters for Prometheus",
			permission: "read",
			output: { type: "text/plain" },
			handler: metrics,
		},
	],
);

async function metrics(c: Context, { bearer, id, services }: Call): Promise<Response> {
	const { directory, health, log } = services;
	const named = c.req.queries("account") ?? [];
	const isOperator = bearer.account === undefined;
	const accounts =
		isOperator && named.length === 0
			? (await directory.list({ limit: MAX_ACCOUNTS })).accounts.map(({ id }) => id)
			: accountsFor(bearer, named);
	const down: string[] = [];
	const reports = accounts.map((account) =>
		factsOf(account, bearer, services).catch((thrown: unknown) => {
			const error = toAiError(thrown);
			if (error.key !== "ledgerUnavailable") throw error;
			log(error, id);
			down.push(account);
			return [];
		}),
	);
	const facts = (await Promise.all(reports)).flat();
	// Of all accounts together, so only for the operator.
	const engines = isOperator ? (health.engines?.() ?? []) : [];
	return new Response(metricsText(facts, down, engines), {
		headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" },
	});
}

async function factsOf(
	account: string,
	{ credential }: Bearer,
	{ ledgers, limits }: Services,
): Promise<AccountFacts> {
	const ledger = ledgers.of(account);
	const [usage, refused, standing] = await Promise.all([
		ledger.usage({ by: ["model", "task", "backend"] }),
		ledger.refusals({ by: ["code", "task"] }),
		ledger.limitStatus({ credential, rates: [], budgets: budgetsOf(limitsOf(limits, account)) }),
	]);
	return { account, usage, refused, standing };
}

/** The accounts that the query names; of a token, its own. */
function accountsFor({ account: own }: Bearer, asked: readonly string[]): string[] {
	const accounts = [...new Set(own === undefined || asked.length > 0 ? asked : [own])];
	if (accounts.length > MAX_ACCOUNTS)
		throw new AiError("invalidRequest", `account: at most ${MAX_ACCOUNTS} at once`);
	if (!accounts.every((account) => ACCOUNT_ID.test(account)))
		throw new AiError("invalidRequest", "account: is no id of an account");
	if (own !== undefined && accounts.some((account) => account !== own))
		throw new AiError("forbidden", "Authentication error: the token is for another account");
	return accounts;
}

/** An account without limits is among them, so that its neurons of the day and the month are shown. */
function budgetsOf({ dailyNeurons = Infinity, monthlyNeurons = Infinity, models }: AccountLimits): Budget[] {
	const budgets = (key: string, { dailyNeurons, monthlyNeurons }: NeuronLimits): Budget[] =>
		(
			[
				["day", dailyNeurons],
				["month", monthlyNeurons],
			] as const
		).flatMap(([period, neurons]) =>
			neurons === undefined
				? []
				: [{ key, period, microNeurons: neurons * MICRO_NEURONS, failure: "budgetExceeded" }],
		);
	return [
		...budgets("account", { dailyNeurons, monthlyNeurons }),
		...[...models].flatMap(([id, limits]) => budgets(`model:${id}`, limits)),
	];
}
