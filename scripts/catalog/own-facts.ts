/** The facts of our catalogue, in the form of {@link ModelFacts}. */
import { PRODUCT_MODELS } from "../../src/models/catalog.ts";
import type { Model } from "../../src/models/model.ts";
import { FLAG_PROPERTIES } from "../../src/models/search.ts";
import { THIRD_PARTY_IDS, thirdPartyModel } from "../../src/models/third-party.ts";
import unserved from "../../src/models/third-party-unserved.json" with { type: "json" };
import { type ModelFacts, priceKey } from "./facts.ts";

export interface OwnFacts extends ModelFacts {
	/** The folder need not have it: the product has removed it, or has never had a file of it. */
	withoutFile?: true;
}

/** Ids that the product's pricing page or its API knows, although the documentation has no file of them. */
const WITHOUT_FILE: ReadonlySet<string> = new Set([
	"@cf/meta/llama-3.1-70b-instruct-fp8-fast",
	"@cf/meta/llama-3.1-8b-instruct-fp8-fast",
	"deepseek/deepseek-chat",
]);

export function ownFacts(): OwnFacts[] {
	const served = THIRD_PARTY_IDS.flatMap((id) => thirdPartyModel(id) ?? []);
	return [
		...PRODUCT_MODELS.map((model) => factsOf(model, "workers-ai")),
		...served.map((model) => factsOf(model, "third-party")),
		...Object.entries(unserved).map(
			([id, task]): OwnFacts => ({ id, kind: "third-party", task: task.toLowerCase() }),
		),
	];
}

function factsOf(model: Model, kind: ModelFacts["kind"]): OwnFacts {
	const { id, uuid, created, task, status, deprecated, contextWindow, maxInputTokens, dimensions } = model;
	const { capabilities, requestFormats, prices } = model;
	const isOwnId = kind === "workers-ai";
	return {
		id,
		kind,
		task: task.toLowerCase(),
		...(isOwnId && { uuid, created }),
		...(contextWindow !== undefined && { context_window: contextWindow }),
		...(maxInputTokens !== undefined && { max_input_tokens: maxInputTokens }),
		...(dimensions !== undefined && { output_dimensions: dimensions }),
		...(deprecated !== undefined && { planned_deprecation_date: deprecated }),
		...(isOwnId && { flags: FLAG_PROPERTIES.filter((flag) => capabilities.includes(flag)) }),
		...(requestFormats && { request_formats: requestFormats }),
		prices: Object.fromEntries(
			prices.map(({ unit, usd, aboveInputTokens }) => [priceKey(unit, aboveInputTokens), usd]),
		),
		...((status === "deprecated" || status === "removed" || WITHOUT_FILE.has(id)) && { withoutFile: true }),
	};
}
