/**
 * `models/search?format=openrouter`: lists the text models in the format of OpenRouter's `/api/v1/models`, for tools that
 * read it (openrouter.ai/docs/api-reference/list-available-models). Which of these fields the product sends is unknown.
 */
import { type Catalog, isListed } from "./catalog.ts";
import { inputFamily } from "./family.ts";
import { can, type Model, type PriceUnit } from "./model.ts";
import { basePrices } from "./price-tiers.ts";

/** Every listed chat model, on one page. */
export function openRouterList(catalog: Catalog, now: number) {
	return {
		data: catalog.all
			.filter((model) => parametersOf(model).length > 0 && isListed(model, now, false))
			.map(openRouterModel),
	};
}

function openRouterModel(model: Model) {
	const input_modalities = can(model, "vision") ? ["text", "image"] : ["text"];
	const context_length = model.contextWindow ?? null;
	const input = usdPerToken(model, "per M input tokens");
	const cached = usdPerToken(model, "per M cached input tokens");
	const written = usdPerToken(model, "per M cache write tokens");
	return {
		id: model.id,
		canonical_slug: model.id,
		name: model.id.split("/").at(-1) ?? model.id,
		// Unix seconds; 0 if unknown.
		created: Math.floor(Date.parse(model.created) / 1000) || 0,
		description: model.description,
		context_length,
		architecture: {
			modality: `${input_modalities.join("+")}->text`,
			input_modalities,
			output_modalities: ["text"],
			tokenizer: "Other",
			instruct_type: null,
		},
		// US dollars per token, as decimal text.
		pricing: {
			prompt: input ?? "0",
			completion: usdPerToken(model, "per M output tokens") ?? "0",
			...(cached && { input_cache_read: cached }),
			...(written && { input_cache_write: written }),
			request: "0",
			image: "0",
		},
		top_provider: { context_length, max_completion_tokens: null, is_moderated: false },
		per_request_limits: null,
		supported_parameters: parametersOf(model),
	};
}

/** Decimal text without an exponent, because decimal types of clients refuse an exponent. */
function usdPerToken({ prices }: Model, unit: PriceUnit): string | undefined {
	const price = basePrices(prices).find((row) => row.unit === unit);
	return price && (price.usd / 1e6).toFixed(12).replace(/\.?0+$/, "");
}

function parametersOf(model: Model): string[] {
	const { sampling } = inputFamily(model);
	if (!sampling) return [];
	const { inputFields } = model;
	return [
		...sampling.filter((field) => inputFields?.includes(field) ?? true),
		...(can(model, "function_calling") ? ["tools", "tool_choice"] : []),
		...(can(model, "json_mode") ? ["response_format", "structured_outputs"] : []),
		...(can(model, "reasoning") ? ["reasoning", "include_reasoning"] : []),
	];
}
