/**
 * Neurons of the current UTC day and month, by budget: what is spent, what is reserved, and whether a request still fits.
 * In memory. The ledger rebuilds it from the usage of the month and the open requests.
 *
 * Spent and reserved together never exceed a budget, as long as no request costs more than its reservation. An engine that
 * generates more than its limit breaks that rule. Its actual cost is booked all the same, and the budget then has nothing
 * remaining for the period.
 */
import { type Budget, type BudgetPeriod, type CostEstimate, MICRO_NEURONS } from "../admission.ts";
import { monthOf } from "../clock.ts";

/** Micro-neurons. */
export interface Balance {
	spent: number;
	reserved: number;
}

/** Micro-neurons to reserve and the output that they pay for; `refused` if a budget has too little remaining. */
type Grant =
	| { kind: "granted"; microNeurons: number; outputTokens?: number }
	/** `cost`: the least that the request may cost. `held`: reserved for open requests, which may free a part of it. */
	| { kind: "refused"; budget: Budget; remaining: number; held: number; cost: number };

/** `token`: empty for the operator. */
interface BookedRequest {
	model: string;
	token: string;
}

/** The budgets in which a request is booked. */
function budgetKeys({ model, token }: BookedRequest): string[] {
	const keys = ["account", `model:${model}`];
	if (token) keys.push(`token:${token}`);
	return keys;
}

type Balances = Map<string, Balance>;

export class Budgets {
	readonly day: string;
	readonly #balances: Record<BudgetPeriod, Balances> = { day: new Map(), month: new Map() };

	constructor(day: string) {
		this.day = day;
	}

	balance({ key, period = "day" }: Pick<Budget, "key" | "period">): Readonly<Balance> {
		return this.#balances[period].get(key) ?? { spent: 0, reserved: 0 };
	}

	remaining(budget: Pick<Budget, "key" | "microNeurons" | "period">): number {
		const { spent, reserved } = this.balance(budget);
		return Math.max(0, budget.microNeurons - spent - reserved);
	}

	/** Decides what to reserve for a request. Reserves nothing yet. */
	grant(cost: CostEstimate, budgets: readonly Budget[]): Grant {
		const [first, ...others] = budgets;
		if (!first) return { kind: "granted", microNeurons: maxCost(cost) };
		let budget = first;
		for (const other of others) if (this.remaining(other) < this.remaining(budget)) budget = other;
		const remaining = this.remaining(budget);
		const outputTokens = affordableTokens(cost, remaining);
		const { minOutputTokens = 1, outputUnbounded } = cost;
		const least = outputUnbounded ? Math.min(minOutputTokens, cost.outputTokens) : cost.outputTokens;
		if (outputTokens < least) {
			const { reserved: held } = this.balance(budget);
			return { kind: "refused", budget, remaining, held, cost: costOf(cost, least) };
		}
		return {
			kind: "granted",
			microNeurons: costOf(cost, outputTokens),
			// Output that costs nothing needs no bound.
			...(outputTokens > 0 && cost.microNeuronsPerOutputToken > 0 && { outputTokens }),
		};
	}

	/** Adds to both amounts. An amount of an earlier day changes only its month, one of an earlier month changes nothing. */
	book(day: string, request: BookedRequest, amounts: Balance): void {
		const keys = budgetKeys(request);
		if (day === this.day) add(this.#balances.day, keys, amounts);
		if (monthOf(day) === monthOf(this.day)) add(this.#balances.month, keys, amounts);
	}
}

function add(balances: Balances, keys: readonly string[], { spent, reserved }: Balance): void {
	for (const key of keys) {
		const balance = balances.get(key);
		if (!balance) balances.set(key, { spent, reserved });
		else {
			balance.spent += spent;
			balance.reserved += reserved;
		}
	}
}

/** Whole micro-neurons, with all of the requested output. */
export const maxCost = (cost: CostEstimate): number => costOf(cost, cost.outputTokens);

/** Whole micro-neurons, rounded up so that the actual cost of so many tokens does not exceed it. */
const costOf = (
	{ fixedMicroNeurons, microNeuronsPerOutputToken }: CostEstimate,
	outputTokens: number,
): number => Math.ceil(fixedMicroNeurons + microNeuronsPerOutputToken * outputTokens);

/** Output tokens, at most the requested number, that `remaining` pays for; -1 if it does not even pay for the input. */
function affordableTokens(cost: CostEstimate, remaining: number): number {
	if (maxCost(cost) <= remaining) return cost.outputTokens;
	let tokens = Math.floor((remaining - cost.fixedMicroNeurons) / cost.microNeuronsPerOutputToken);
	// Prices may have fractions, and a quotient of them may be off by one.
	while (tokens >= 0 && costOf(cost, tokens) > remaining) tokens--;
	return Math.max(-1, Math.min(tokens, cost.outputTokens - 1));
}

/** `This request may cost 12.5 neurons; the daily budget of model @cf/… is 10, of which 3.25 are left and 5 are reserved by running requests` */
export function describeRefusal({
	budget,
	remaining,
	held,
	cost,
}: Extract<Grant, { kind: "refused" }>): string {
	const [kind, ...id] = budget.key.split(":");
	const owner = kind === "model" ? `model ${id.join(":")}` : `this ${kind}`;
	const period = budget.period === "month" ? "monthly" : "daily";
	const neurons = (microNeurons: number): string => String(microNeurons / MICRO_NEURONS);
	const waiting = held > 0 ? ` and ${neurons(held)} are reserved by running requests` : "";
	return `This request may cost ${neurons(cost)} neurons; the ${period} budget of ${owner} is ${neurons(budget.microNeurons)}, of which ${neurons(remaining)} are left${waiting}`;
}

/** For a model without a known price: its requests would bypass the budget. */
export const describeUnpriced = (model: string, owner: "account" | "token"): string =>
	`Insufficient AI Gateway credits: the ${owner} has a budget of neurons, and ${model} has no price (set BACKENDS.{name}.price or MODELS["${model}"].prices)`;
