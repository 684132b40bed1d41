/**
 * The catalogue: the product's models from `catalog.json`, overridden by the operator's. The file is not validated at
 * start-up, because that would slow every cold start; a test proves that it satisfies the schema.
 */
import { BoundedMap } from "../core/bounded-map.ts";
import catalog from "./catalog.json" with { type: "json" };
import type { Model } from "./model.ts";
import { authorOf, chatShapesOf, thirdPartyModel } from "./third-party.ts";
import { nameUuid } from "./uuid.ts";

export const PRODUCT_MODELS: readonly Model[] = catalog as Model[];

/** Ad hoc models that one catalogue caches. A route pattern may let callers name any number of them. */
const MAX_AD_HOC_MODELS = 1000;

/** Months for which `include_deprecated` still lists a model after its end. */
const DEPRECATED_LISTED_MONTHS = 3;

export class Catalog {
	/** Without third-party models, which `find` returns by id. A deployment that serves some of them adds them. */
	readonly all: readonly Model[];
	readonly #byId: ReadonlyMap<string, Model>;
	readonly #adHoc = new BoundedMap<string, Model>(MAX_AD_HOC_MODELS);
	/** Third-party models that are not in `all`, with this deployment's prices. At most as many as exist. */
	readonly #thirdParty = new Map<string, Model>();
	readonly #price: (model: Model) => Model;

	/**
	 * If two models have one id, the later replaces the earlier in its position.
	 * @param price sets the prices of this deployment on a model: src/config/prices.ts.
	 */
	constructor(models: Iterable<Model> = PRODUCT_MODELS, price: (model: Model) => Model = (model) => model) {
		const byId = new Map<string, Model>();
		for (const model of models) byId.set(model.id, price(model));
		this.all = [...byId.values()];
		this.#byId = byId;
		this.#price = price;
	}

	find(id: string): Model | undefined {
		return this.#byId.get(id) ?? this.#thirdParty.get(id) ?? this.#findThirdParty(id);
	}

	#findThirdParty(id: string): Model | undefined {
		const unpriced = thirdPartyModel(id);
		if (!unpriced) return undefined;
		const model = this.#price(unpriced);
		this.#thirdParty.set(id, model);
		return model;
	}

	/**
	 * Returns the same object each time, so that values derived from a model (its schema) are computed once.
	 * @param findBase returns the model of which this is a version: it has the same price and context window.
	 */
	adHoc(id: string, findBase?: () => Model | undefined): Model {
		return this.#adHoc.getOrSet(id, () => {
			const base = findBase?.();
			return this.#price({
				...adHocModel(id),
				...(base?.contextWindow !== undefined && { contextWindow: base.contextWindow }),
				...(base && base.priceSource === undefined && { prices: base.prices }),
			});
		});
	}

	with(models: Iterable<Model>): Catalog {
		return new Catalog([...this.all, ...models], this.#price);
	}

	/** The same models, with the prices of a deployment. */
	withPrices(price: (model: Model) => Model): Catalog {
		return new Catalog(this.all, price);
	}
}

/**
 * A model that only a route names: any model that an OpenAI-compatible engine serves under that name. Its native routes
 * accept chat, or its author's format; an OpenAI route accepts it for that route's task.
 */
export const adHocModel = (id: string): Model => ({
	id,
	uuid: nameUuid(id),
	source: 0,
	task: "Text Generation",
	author: authorOf(id),
	created: "",
	description: "",
	status: "adhoc",
	...chatShapesOf(id),
	// Empty: the engine's defaults apply.
	defaults: {},
	// The usual capabilities of such engines.
	capabilities: ["function_calling", "json_mode", "streaming"],
	prices: [],
	tags: [],
});

/**
 * Whether `models/search` lists a model. After its end a model is listed for three more months, and only with
 * `include_deprecated`; before its end it is always listed. Gated models are listed, because they exist for some accounts.
 * Unlisted and removed models are not, as in the product's list.
 */
export function isListed(model: Model, now: number, includeDeprecated: boolean): boolean {
	const { status, deprecated } = model;
	if (status === "unlisted" || status === "removed") return false;
	if (deprecated === undefined || now < Date.parse(deprecated)) return true;
	return includeDeprecated && now < addMonths(deprecated, DEPRECATED_LISTED_MONTHS);
}

/** `YYYY-MM-DD` plus months, in epoch milliseconds. A day that the month lacks falls into the next month. */
function addMonths(date: string, months: number): number {
	const end = new Date(date);
	return end.setUTCMonth(end.getUTCMonth() + months);
}
