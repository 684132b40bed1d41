/**
 * Prices of models without a price: the `price` of their backends, or, if `LIMITS` has a budget, a default. So a budget never
 * counts a request to the operator's own engine as free by accident.
 */
import type { Model, Price, PriceUnit } from "../models/model.ts";
import type { TaskTitle } from "../models/tasks.ts";
import type { AccountLimits, Limits, NeuronLimits } from "../pipeline/limits.ts";
import type { Routing } from "../pipeline/plan.ts";
import { chargesFor, isOwnEngine } from "../providers/billing.ts";
import { price, UNITS } from "./backend-price.ts";

/** Neurons. About the price of Llama 3.1 8B in the catalogue, and of an image. */
export const DEFAULT_PRICE = { input: 25_000, output: 75_000, request: 200 } as const;
const DEFAULT_TOKEN_PRICES = [
	price(UNITS.input, DEFAULT_PRICE.input),
	price(UNITS.output, DEFAULT_PRICE.output),
];
const DEFAULT_REQUEST_PRICES = [price(UNITS.request, DEFAULT_PRICE.request)];

/** Tasks that the catalogue prices by tokens. */
const TOKEN_TASKS: ReadonlySet<TaskTitle> = new Set([
	"Text Generation",
	"Text Embeddings",
	"Text Classification",
	"Translation",
	"Summarization",
]);

/** Whether any account has a budget of neurons, for itself or for a model. */
export function hasBudget({ everyone, accounts }: Limits): boolean {
	const isLimited = ({ dailyNeurons, monthlyNeurons }: NeuronLimits): boolean =>
		dailyNeurons !== undefined || monthlyNeurons !== undefined;
	const limited = (account: AccountLimits): boolean =>
		isLimited(account) || [...account.models.values()].some(isLimited);
	return [everyone, ...accounts.values()].some(limited);
}

/**
 * Gives a model without a price the price of its engines: by unit the highest of all targets, so that a reservation covers
 * each. Unchanged if the model has a price, or if a provider charges an unknown amount.
 */
export function pricing(routing: Routing, budget: boolean): (model: Model) => Model {
	return (model) => {
		if (model.prices.length > 0) return model;
		const engines = (routing.find(model.id)?.targets ?? []).filter(
			(target) => target.prices || isOwnEngine(target),
		);
		if (engines.some((engine) => !engine.prices && chargesFor(engine, model.id))) return model;
		const byTokens = TOKEN_TASKS.has(model.task);
		// Token prices do not apply to an image.
		const priced = engines.flatMap(({ prices = [] }) => {
			const fits = byTokens || prices.some(({ unit }) => unit === UNITS.request);
			return fits && prices.length > 0 ? [prices] : [];
		});
		const isDefault = budget && priced.length < engines.length;
		const defaults = byTokens ? DEFAULT_TOKEN_PRICES : DEFAULT_REQUEST_PRICES;
		const prices = highest([...priced.flat(), ...(isDefault ? defaults : [])]);
		if (prices.length === 0) return model;
		return { ...model, prices, priceSource: isDefault ? "default" : "backend" };
	};
}

function highest(prices: readonly Price[]): Price[] {
	const byUnit = new Map<PriceUnit, Price>();
	for (const price of prices) {
		const known = byUnit.get(price.unit);
		if (!known || known.neurons < price.neurons) byUnit.set(price.unit, price);
	}
	return [...byUnit.values()];
}
