/**
 * The soak's own accounting: the reservation and the cost of a request, from the plan, the engine's records and the prices below. It uses none
 * of the gateway's code, so a mistake in the gateway's arithmetic is a difference.
 */
import type { Planned } from "./plan.ts";

/** Neurons per million tokens, which are micro-neurons per token. */
interface Price {
	input: number;
	cached?: number;
	output: number;
}

const SOAK_PRICE: Price = { input: 20_000, cached: 2_000, output: 130_001 };

/** Prices by model id. The `@cf` rows are from developers.cloudflare.com/workers-ai/platform/pricing. */
export const PRICES: Readonly<Record<string, Price>> = {
	"@cf/meta/llama-3.1-8b-instruct": { input: 25_608, output: 75_147 },
	"soak/chat": SOAK_PRICE,
	"soak/ollama": SOAK_PRICE,
	"soak/pair": SOAK_PRICE,
	"soak/embed": { input: 15_000, output: 0 },
};

/** The expected row of a request. */
export interface Bill {
	inputTokens: Range;
	cachedTokens: number;
	outputTokens: Range;
	/** The engine sent no counts, so the gateway has estimated them. */
	estimated: boolean;
}

export interface Range {
	min: number;
	max: number;
}

/** Tokens that are reserved for the start of a template, and for each message in it. */
const OPENING_TOKENS = 256;
const MESSAGE_TOKENS = 16;
/** Special tokens around a text to embed. */
const EMBEDDED_TEXT_TOKENS = 4;
/** Output limits of a request without a limit: the gateway's default, and that of the catalogue's model. */
const DEFAULT_OUTPUT_TOKENS = 4_096;
const NATIVE_OUTPUT_TOKENS = 256;

/** The reservation of a request, in micro-neurons: a token for each byte of its prompt, and its maximum output. */
export interface ReservedCost {
	fixed: number;
	perOutputToken: number;
	outputTokens: number;
	/** The request sets no output limit, so a budget may grant less. */
	outputUnbounded: boolean;
}

export function reservedCost({ api, maxTokens }: Planned, model: string, prompt: string): ReservedCost {
	const price = priceOf(model);
	const bytes = Buffer.byteLength(prompt);
	const inputTokens =
		api === "embed" ? bytes + EMBEDDED_TEXT_TOKENS : bytes + OPENING_TOKENS + MESSAGE_TOKENS;
	const defaultTokens = api === "native" ? NATIVE_OUTPUT_TOKENS : DEFAULT_OUTPUT_TOKENS;
	return {
		fixed: inputTokens * price.input,
		perOutputToken: price.output,
		outputTokens: api === "embed" ? 0 : (maxTokens ?? defaultTokens),
		outputUnbounded:
			api !== "embed" && (maxTokens === undefined || (api === "native" && maxTokens === defaultTokens)),
	};
}

/** Micro-neurons, if the account grants this output. */
export const reservedFor = ({ fixed, perOutputToken }: ReservedCost, outputTokens: number): number =>
	fixed + perOutputToken * outputTokens;

/** The part of an answer that was sent. `complete`: everything, including its end. */
export interface Part {
	events: number;
	complete: boolean;
	/** Output limit that the engine received. */
	maxTokens: number;
}

/** Characters of one token of the engine ({@link eventText}). In the gateway's count each may be a token. */
const TOKEN_CHARACTERS = 7;
/** Bounds of the gateway's own count of a prompt: from this share of its words to a token per byte plus the template. */
const MIN_TOKENS_PER_WORD = 0.25;
const COUNTED_TEMPLATE_TOKENS = 16;

export function billOf(planned: Planned, prompt: string, { events, maxTokens, complete }: Part): Bill {
	const { cachedTokens, api, promptTokens, stream, tokensPerEvent } = planned;
	const served = events * tokensPerEvent;
	if (hasUsage(planned, complete))
		return {
			inputTokens: exactly(promptTokens),
			cachedTokens: api === "ollama" || api === "embed" ? 0 : cachedTokens,
			outputTokens: exactly(served),
			estimated: false,
		};
	const format = prompt.split(" ").length;
	// The gateway counts an event with a short text as one token.
	const max = stream && tokensPerEvent === 1 ? served : Math.min(served * TOKEN_CHARACTERS, maxTokens);
	return {
		inputTokens: {
			min: Math.floor(format * MIN_TOKENS_PER_WORD),
			max: Buffer.byteLength(prompt) + COUNTED_TEMPLATE_TOKENS,
		},
		cachedTokens: 0,
		outputTokens: { min: Math.min(stream ? events : served, max), max },
		estimated: true,
	};
}

/** Micro-neurons of these tokens. Cached tokens are input tokens; some models have their own price for them. */
export function costOf(
	model: string,
	tokens: { input_tokens: number; cached_tokens: number; output_tokens: number },
): number {
	const { input, cached = input, output } = priceOf(model);
	const { input_tokens, cached_tokens, output_tokens } = tokens;
	return (input_tokens - cached_tokens) * input + cached_tokens * cached + output_tokens * output;
}

export const isIn = ({ min, max }: Range, value: number): boolean => min <= value && value <= max;

const exactly = (value: number): Range => ({ min: value, max: value });

function priceOf(model: string): Price {
	const price = PRICES[model];
	if (!price) throw new Error(`the soak has no price of ${model}`);
	return price;
}

/** Whether this part of the answer contains the engine's counts. */
function hasUsage({ api, stream, usage }: Planned, complete: boolean): boolean {
	if (usage === "none" || usage === "zeros") return false;
	if (!stream || complete) return true;
	return usage === "every" && api !== "ollama";
}
