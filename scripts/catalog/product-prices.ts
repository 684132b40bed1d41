/** The prices per token in the product's files of third-party models. Other prices (per image, per second) are not compared. */
import { type PriceList, priceKey } from "./facts.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The fields of `provider_details[].pricing`, after `short_context_` or `long_context_`. */
const FIELD_UNITS: Readonly<Record<string, string>> = {
	input_tokens: "per M input tokens",
	input_cached_tokens: "per M cached input tokens",
	input_cache_creation_tokens: "per M cache write tokens",
	output_tokens: "per M output tokens",
	input_image_tokens: "per M input image tokens",
	input_cached_image_tokens: "per M cached input image tokens",
	output_image_tokens: "per M output image tokens",
};

/** The first words of a label of `pricing`. */
const LABEL_UNITS: Readonly<Record<string, string>> = {
	input: "per M input tokens",
	"cached input": "per M cached input tokens",
	"cache write": "per M cache write tokens",
	"cache creation": "per M cache write tokens",
	output: "per M output tokens",
	"input image": "per M input image tokens",
	"cached input image": "per M cached input image tokens",
	"output image": "per M output image tokens",
};
/** `Cached input tokens (per 1M)`, `Long-context cache write (per 1M)`, `Input >=200k (per 1M)`. */
const LABEL =
	/^(short-context |long-context )?(input|cached input|cache write|cache creation|output|input image|cached input image|output image)( tokens)?( <\d+k| >=(\d+)k)? \(per 1m\)$/;
const THOUSAND = 1000;

/** `undefined`: the file has no price per token. Throws if a long tier has no threshold. */
export function productPrices(file: Fields): PriceList | undefined {
	const detailed = fieldPrices(providerPricing(file));
	const prices = Object.keys(detailed).length > 0 ? detailed : labelPrices(file);
	return Object.keys(prices).length > 0 ? prices : undefined;
}

function providerPricing({ provider_details, provider_id }: Fields): Fields {
	const providers = Array.isArray(provider_details) ? provider_details.filter(isFields) : [];
	const { pricing } = providers.find(({ id }) => id === provider_id) ?? providers[0] ?? {};
	return isFields(pricing) ? pricing : {};
}

function fieldPrices(pricing: Fields): PriceList {
	const threshold = pricing.long_context_threshold_tokens;
	return listOf(pricing, (name) => {
		const [, tier, field = ""] = /^(short_context_|long_context_)?(.*)$/.exec(name) ?? [];
		const unit = FIELD_UNITS[field];
		return unit && priceKey(unit, tier === "long_context_" ? thresholdOf(threshold) : undefined);
	});
}

function labelPrices({ pricing, metadata }: Fields): PriceList {
	if (!isFields(pricing)) return {};
	return listOf(pricing, (label) => {
		const [, tier, words = "", , , thousands] = LABEL.exec(label.toLowerCase()) ?? [];
		const unit = LABEL_UNITS[words];
		if (!unit) return undefined;
		// A tier "from 200,000 tokens" is one above 199,999.
		if (thousands !== undefined) return priceKey(unit, Number(thousands) * THOUSAND - 1);
		const stated = isFields(metadata) ? metadata["Long-context threshold"] : undefined;
		const tokens = Number(/^([\d,]+) input tokens$/.exec(String(stated))?.[1]?.replaceAll(",", ""));
		return priceKey(unit, tier === "long-context " ? thresholdOf(tokens) : undefined);
	});
}

function listOf(pricing: Fields, keyOf: (name: string) => string | undefined): PriceList {
	return Object.fromEntries(
		Object.entries(pricing).flatMap(([name, usd]) => {
			const key = typeof usd === "number" ? keyOf(name) : undefined;
			return key === undefined ? [] : [[key, usd as number]];
		}),
	);
}

function thresholdOf(tokens: unknown): number {
	if (typeof tokens === "number" && Number.isSafeInteger(tokens) && tokens > 0) return tokens;
	throw new Error("it has prices of long inputs, but no threshold");
}

export const isFields = (value: unknown): value is Fields =>
	typeof value === "object" && value !== null && !Array.isArray(value);
