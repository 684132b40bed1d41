/**
 * Neurons of the current UTC day and month, by budget: what is spent, what is reserved, and whether a request still fits.
 * In memory; the ledger rebuilds it from the usage of the month and the open requests.
 *
 * Spent and reserved together never pass a budget, as long as no fact passes its reservation. An engine that gives more
 * than it was asked for breaks that: its fact is booked all the same, because the ledger tells the truth, and the
 * room of the period is then none.
 */
import { type Budget, type BudgetPeriod, MICRO_NEURONS, type Worth } from "../admission.ts";
import { monthOf } from "../clock.ts";

/** Micro-neurons. */
export interface Balance {
	spent: number;
	reserved: number;
}

/** Micro-neurons to reserve, and the output that they pay for; `refused` where some budget has not the room. */
export type Grant =
	| { kind: "granted"; microNeurons: number; outputTokens?: number }
	/** `held`: by requests under way, which may leave room when they settle. */
	| { kind: "refused"; budget: Budget; room: number; held: number; needed: number };

/** The budgets that a request is booked in. */
export function budgetKeys(model: string, token: string): string[] {
	const keys = ["account", `model:${model}`];
	if (token) keys.push(`token:${token}`);
	return keys;
}

type Balances = Map<string, Balance>;

export class Budgets {
	#day: string;
	readonly #balances: Record<BudgetPeriod, Balances> = { day: new Map(), month: new Map() };

	constructor(day: string) {
		this.#day = day;
	}

	get day(): string {
		return this.#day;
	}

	/** A new day and a new month begin with nothing spent. Open reservations stay in the period of their admission. */
	turnTo(day: string): void {
		if (day === this.#day) return;
		this.#balances.day.clear();
		if (monthOf(day) !== monthOf(this.#day)) this.#balances.month.clear();
		this.#day = day;
	}

	balance({ key, period = "day" }: Pick<Budget, "key" | "period">): Readonly<Balance> {
		return this.#balances[period].get(key) ?? { spent: 0, reserved: 0 };
	}

	room(budget: Pick<Budget, "key" | "microNeurons" | "period">): number {
		const { spent, reserved } = this.balance(budget);
		return Math.max(0, budget.microNeurons - spent - reserved);
	}

	/** What may be reserved for a request; reserves nothing yet. */
	grant(worth: Worth, budgets: readonly Budget[]): Grant {
		const full = priceOf(worth);
		const [first, ...others] = budgets;
		if (!first) return { kind: "granted", microNeurons: full };
		let budget = first;
		for (const other of others) if (this.room(other) < this.room(budget)) budget = other;
		const room = this.room(budget);
		const outputTokens = affordable(worth, room);
		const { leastOutputTokens = 1, open } = worth;
		const least = open ? Math.min(leastOutputTokens, worth.outputTokens) : worth.outputTokens;
		if (outputTokens < least) {
			const { reserved: held } = this.balance(budget);
			return { kind: "refused", budget, room, held, needed: price(worth, least) };
		}
		return {
			kind: "granted",
			microNeurons: price(worth, outputTokens),
			// Output that costs nothing needs no bound.
			...(outputTokens > 0 && worth.microNeuronsPerOutputToken > 0 && { outputTokens }),
		};
	}

	/** Adds to both; negative amounts subtract. Amounts of an earlier day change its month alone, of an earlier month nothing. */
	book(day: string, keys: readonly string[], amounts: Balance): void {
		if (day === this.#day) add(this.#balances.day, keys, amounts);
		if (monthOf(day) === monthOf(this.#day)) add(this.#balances.month, keys, amounts);
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

/** Whole micro-neurons, of all that a request may ask for. */
export const priceOf = (worth: Worth): number => price(worth, worth.outputTokens);

/** Whole micro-neurons, rounded up so that no fact of so many tokens passes it. */
const price = ({ fixedMicroNeurons, microNeuronsPerOutputToken }: Worth, outputTokens: number): number =>
	Math.ceil(fixedMicroNeurons + microNeuronsPerOutputToken * outputTokens);

/** Output tokens, at most those asked for, that the room pays for; -1 where it does not even pay for the rest. */
function affordable(worth: Worth, room: number): number {
	if (priceOf(worth) <= room) return worth.outputTokens;
	let tokens = Math.floor((room - worth.fixedMicroNeurons) / worth.microNeuronsPerOutputToken);
	// Prices may have fractions, and a quotient of them may be off by one.
	while (tokens >= 0 && price(worth, tokens) > room) tokens--;
	return Math.max(-1, Math.min(tokens, worth.outputTokens - 1));
}

/** `This request may cost 12.5 neurons; the daily budget of model @cf/… is 10, of which 3.25 are left and 5 are held by requests under way` */
export function describeRefusal({ budget, room, held, needed }: Extract<Grant, { kind: "refused" }>): string {
	const [kind = "", id = ""] = splitKey(budget.key);
	const owner = kind === "model" ? `model ${id}` : `this ${kind}`;
	const period = budget.period === "month" ? "monthly" : "daily";
	const [cost, limit, left] = [needed, budget.microNeurons, room].map((n) => String(n / MICRO_NEURONS));
	const waiting = held > 0 ? ` and ${held / MICRO_NEURONS} are held by requests under way` : "";
	return `This request may cost ${cost} neurons; the ${period} budget of ${owner} is ${limit}, of which ${left} are left${waiting}`;
}

/** Of a model that would pass by a budget: what it costs is nothing that can be counted. */
export const describeUnpriced = (model: string, owner: "account" | "token"): string =>
	`Insufficient AI Gateway credits: the ${owner} has a budget of neurons, and nothing says what ${model} costs (see MODELS["${model}"].prices)`;

function splitKey(key: string): [kind: string, id: string] {
	const colon = key.indexOf(":");
	return colon < 0 ? [key, ""] : [key.slice(0, colon), key.slice(colon + 1)];
}
