/**
 * The models there are: the product's, from `catalog.json`, with the operator's over them. The file is not parsed at
 * the start, which would cost every cold start its time: a test proves that it satisfies the schema.
 */
import catalog from "./catalog.json" with { type: "json" };
import type { Model } from "./model.ts";
import { chatShapesOf, THIRD_PARTY_MODELS } from "./third-party.ts";
import { nameUuid } from "./uuid.ts";

export const PRODUCT_MODELS: readonly Model[] = catalog as Model[];

const THIRD_PARTY: ReadonlyMap<string, Model> = new Map(THIRD_PARTY_MODELS.map((model) => [model.id, model]));

/** Ad hoc models that one catalogue remembers; a pattern may let callers name any number of them. */
const REMEMBERED_AD_HOC = 1000;

/** Months for which `include_deprecated` still shows a model that has ended. */
const DEPRECATED_SHOWN_MONTHS = 3;

export class Catalog {
	/** Without the models of others, which are found by their ids: whoever serves some adds them. */
	readonly all: readonly Model[];
	readonly #byId: ReadonlyMap<string, Model>;
	readonly #adHoc = new Map<string, Model>();
	/** Models of third parties that are not in `all`, with a price of this deployment. */
	readonly #thirdParty = new Map<string, Model>();
	readonly #price: (model: Model) => Model;

	/**
	 * Of two models with one id the later stays, in the place of the earlier.
	 * @param price gives a model the prices of this deployment: src/config/prices.ts.
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

	/** At most as many as there are. */
	#findThirdParty(id: string): Model | undefined {
		const known = THIRD_PARTY.get(id);
		if (!known) return undefined;
		const model = this.#price(known);
		this.#thirdParty.set(id, model);
		return model;
	}

	/** The same object each time, so that what is derived from a model once (its schema) is not derived again. */
	adHoc(id: string): Model {
		const known = this.#adHoc.get(id);
		if (known) return known;
		if (this.#adHoc.size >= REMEMBERED_AD_HOC) this.#adHoc.clear();
		const model = this.#price(adHocModel(id));
		this.#adHoc.set(id, model);
		return model;
	}

	with(models: Iterable<Model>): Catalog {
		return new Catalog([...this.all, ...models], this.#price);
	}

	/** The same models, with the prices of a deployment. */
	priced(price: (model: Model) => Model): Catalog {
		return new Catalog(this.all, price);
	}
}

/**
 * A model that only a route knows: whatever an OpenAI-compatible engine serves under that name. Its native routes are
 * chat's, or its author's; an OpenAI route takes it for what that route asks.
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
	// None: what the caller leaves open is the engine's to decide.
	defaults: {},
	// What such engines can commonly do.
	capabilities: ["function_calling", "json_mode", "streaming"],
	prices: [],
	tags: [],
});

/** `@cf/meta/llama` and `meta/llama`: `meta`; `llama3.2`: nobody. */
export function authorOf(id: string): string {
	const parts = id.split("/");
	if (parts[0]?.startsWith("@")) parts.shift();
	return parts.length > 1 ? (parts[0] ?? "") : "";
}

/**
 * Whether `models/search` shows a model. One that has ended is shown for three months more, and only when asked for;
 * an end that is still to come hides nothing. Gated models are shown: they exist, whoever may use them. Unlisted and
 * removed ones are not, as in the product's list.
 */
export function isListed(model: Model, now: number, includeDeprecated: boolean): boolean {
	const { status, deprecated } = model;
	if (status === "unlisted" || status === "removed") return false;
	if (deprecated === undefined || now < Date.parse(deprecated)) return true;
	return includeDeprecated && now < addMonths(deprecated, DEPRECATED_SHOWN_MONTHS);
}

/** `YYYY-MM-DD` and months to epoch milliseconds; a day that the month lacks is one of the next month. */
function addMonths(date: string, months: number): number {
	const end = new Date(date);
	return end.setUTCMonth(end.getUTCMonth() + months);
}
