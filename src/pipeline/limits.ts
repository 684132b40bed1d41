/** Limits of a request and of an account. */
import { type Budget, MICRO_NEURONS, type RateLimit } from "../accounts/admission.ts";
import type { Model } from "../models/model.ts";
import { modelRate } from "../models/rates.ts";
import type { TaskTitle } from "../models/tasks.ts";

/** Limits of one request. */
export interface SizeLimits {
	/** Largest JSON body. */
	jsonBytes: number;
	/** Largest audio, image or form. */
	uploadBytes: number;
	/** Deepest nesting of a JSON body. */
	jsonDepth: number;
	/** Longest time for a body to arrive, in milliseconds. */
	bodyMs: number;
}

export interface Limits extends SizeLimits {
	/** Milliseconds after which a request can no longer be settled: its reservation is charged. */
	holdMs: number;
	/** For every account that is not in `accounts`. */
	everyone: AccountLimits;
	accounts: ReadonlyMap<string, AccountLimits>;
}

/** Limits of one account. */
export interface AccountLimits extends NeuronLimits {
	/** `free`: models that need the paid plan are refused. */
	plan: "free" | "paid";
	/** By task. A task that is absent has no limit. */
	requestsPerMinute: Partial<Record<TaskTitle, number>>;
	/** Whether models with a rate of their own in the product have the same rate here. */
	productRates: boolean;
	/** By model: instead of the task's rate, and within the account's budget. */
	models: ReadonlyMap<string, ModelLimits>;
}

interface ModelLimits extends NeuronLimits {
	requestsPerMinute?: number;
}

/** Absent: no limit. */
export interface NeuronLimits {
	/** In a UTC day. */
	dailyNeurons?: number;
	/** In a UTC month. */
	monthlyNeurons?: number;
}

export const limitsOf = ({ accounts, everyone }: Limits, account: string): AccountLimits =>
	accounts.get(account) ?? everyone;

interface ModelRules {
	rates: readonly RateLimit[];
	budgets: readonly Budget[];
}

/** The rules of each model for the accounts with the same limits. */
const rulesByLimits = new WeakMap<AccountLimits, WeakMap<Model, ModelRules>>();

/** The rates and budgets of a model, made once for all requests. */
export function rulesOf(model: Model, limits: AccountLimits): ModelRules {
	const rules = rulesByLimits.get(limits) ?? new WeakMap<Model, ModelRules>();
	rulesByLimits.set(limits, rules);
	const known = rules.get(model) ?? { rates: ratesOf(model, limits), budgets: budgetsOf(model, limits) };
	rules.set(model, known);
	return known;
}

/** A model with a rate of its own does not count against its task's. */
function ratesOf(model: Model, { requestsPerMinute, productRates, models }: AccountLimits): RateLimit[] {
	const own = models.get(model.id)?.requestsPerMinute ?? (productRates ? modelRate(model) : undefined);
	if (own !== undefined) return [{ key: `model:${model.id}`, perMinute: own }];
	const shared = requestsPerMinute[model.task];
	return shared === undefined ? [] : [{ key: `task:${model.task}`, perMinute: shared }];
}

function budgetsOf({ id }: Model, { plan, dailyNeurons, monthlyNeurons, models }: AccountLimits): Budget[] {
	const budgets: Budget[] = [];
	const add = (neurons: number | undefined, budget: Omit<Budget, "microNeurons">) => {
		if (neurons !== undefined) budgets.push({ ...budget, microNeurons: Math.floor(neurons * MICRO_NEURONS) });
	};
	const failure = "budgetExceeded";
	const own = models.get(id);
	add(dailyNeurons, { key: "account", failure: plan === "free" ? "freeAllocationUsed" : failure });
	add(monthlyNeurons, { key: "account", period: "month", failure });
	add(own?.dailyNeurons, { key: `model:${id}`, failure });
	add(own?.monthlyNeurons, { key: `model:${id}`, period: "month", failure });
	return budgets;
}
