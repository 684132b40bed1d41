/** `GET …/ai/usage/limits`: the account's budgets of neurons, how much of each is used, and the open requests. Not in the product. */
import { type Budget, MICRO_NEURONS } from "../../accounts/admission.ts";
import type { LimitStatus } from "../../accounts/durable/limit-status.ts";
import { envelope } from "../../http/envelope.ts";
import { type AccountLimits, limitsOf, type NeuronLimits } from "../../pipeline/limits.ts";
import type { Caller } from "../../pipeline/request.ts";
import { AI, below } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import type { AppServices } from "../services.ts";

export const limitRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [below(AI, "/usage/limits")], tag: "Usage" },
	[
		{
			method: "GET",
			path: "",
			summary: "Shows the budgets of the account and of its tokens, and the open requests",
			permission: "read",
			handler: showLimits,
		},
	],
);

async function showLimits(_: unknown, { caller, services }: AppCall): Promise<Response> {
	const { budgets, omitted, open } = await limitStatusOf(caller, services);
	return envelope({
		open_requests: open,
		budgets: budgets.map(budgetJson),
		...(omitted !== undefined && { omitted_budgets: omitted }),
	});
}

/** The state of the account's budgets, and of those of all tokens, if the caller may list them, or else of its own token. */
export const limitStatusOf = (
	{ account, credential }: Pick<Caller, "account" | "credential">,
	{ ledgers, limits }: AppServices,
): Promise<LimitStatus> =>
	ledgers.of(account).limitStatus({
		...{ credential, allTokens: true, rates: [] },
		budgets: budgetsOf(limitsOf(limits, account)),
	});

/** `null`: no limit. */
const neurons = (microNeurons: number): number | null =>
	Number.isFinite(microNeurons) ? microNeurons / MICRO_NEURONS : null;

const budgetJson = ({
	key,
	name,
	period = "day",
	microNeurons,
	spentMicroNeurons,
	reservedMicroNeurons,
	remainingMicroNeurons,
}: LimitStatus["budgets"][number]): object => ({
	key,
	...(name !== undefined && { name }),
	period,
	neurons: neurons(microNeurons),
	spent: neurons(spentMicroNeurons),
	reserved: neurons(reservedMicroNeurons),
	remaining: neurons(remainingMicroNeurons),
});

/** An account without limits has infinite budgets, so that its neurons of the day and the month are reported. */
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
