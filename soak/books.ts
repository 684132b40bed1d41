/**
 * The soak's own books: what a request may reserve and what it must cost, from the plan, the engine's records and the
 * prices below. Nothing here comes from the gateway's code, so a mistake in its arithmetic is a difference.
 */
import type { Planned } from "./plan.ts";

/** Neurons per million tokens, which are micro-neurons per token. */
interface Price {
	input: number;
	cached?: number;
	output: number;
}

const OWN: Price = { input: 20_000, cached: 2_000, output: 130_001 };

/** By the id of the model. The `@cf` rows are those of developers.cloudflare.com/workers-ai/platform/pricing. */
export const PRICES: Readonly<Record<string, Price>> = {
	"@cf/meta/llama-3.1-8b-instruct": { input: 25_608, output: 75_147 },
	"soak/chat": OWN,
	"soak/ollama": OWN,
	"soak/pair": OWN,
	"soak/embed": { input: 15_000, output: 0 },
};

/** What a ledger must say of a request. Equal ends: exactly that. */
export interface Bill {
	inputTokens: Range;
	cachedTokens: number;
	outputTokens: Range;
	/** The engine gave no counts, so the gateway has counted. */
	estimated: boolean;
}

export interface Range {
	least: number;
	most: number;
}

/** At most this many bytes of a prompt are reserved for a template's opening, and for each message's marks. */
const OPENING_TOKENS = 256;
const MESSAGE_TOKENS = 16;
/** Around a text to embed. */
const EMBEDDED_TEXT_TOKENS = 4;
/** Of an answer whose caller sets no limit: the gateway's own, and the default of the catalogue's model. */
const USUAL_OUTPUT_TOKENS = 4_096;
const NATIVE_OUTPUT_TOKENS = 256;

/** What is reserved for a request, in micro-neurons: a token for each byte of its prompt, and all of its output. */
export interface ReservedCost {
	fixed: number;
	perOutputToken: number;
	outputTokens: number;
	/** The request sets no output limit, so a budget may grant less. */
	outputUnbounded: boolean;
}

export function reservedCost({ door, maxTokens }: Planned, model: string, prompt: string): ReservedCost {
	const price = priceOf(model);
	const bytes = Buffer.byteLength(prompt);
	const inputTokens =
		door === "embed" ? bytes + EMBEDDED_TEXT_TOKENS : bytes + OPENING_TOKENS + MESSAGE_TOKENS;
	const usual = door === "native" ? NATIVE_OUTPUT_TOKENS : USUAL_OUTPUT_TOKENS;
	return {
		fixed: inputTokens * price.input,
		perOutputToken: price.output,
		outputTokens: door === "embed" ? 0 : (maxTokens ?? usual),
		outputUnbounded:
			door !== "embed" && (maxTokens === undefined || (door === "native" && maxTokens === usual)),
	};
}

/** Micro-neurons, if the account grants so much output. */
export const reservedFor = ({ fixed, perOutputToken }: ReservedCost, outputTokens: number): number =>
	fixed + perOutputToken * outputTokens;

/** What of an answer passed; `whole`: all, and its end. */
export interface Passed {
	events: number;
	whole: boolean;
	/** Tokens of output that the engine was asked to keep to. */
	maxTokens: number;
}

/** Characters of one token of the engine's ({@link eventText}), each of which may be a token of the gateway's count. */
const TOKEN_CHARACTERS = 7;
/** The gateway's own count of a prompt: at least this much of its words, at most a token a byte and its marks. */
const LEAST_TOKENS_OF_A_WORD = 0.25;
const COUNTED_MARKS = 16;

export function billOf(planned: Planned, prompt: string, { events, maxTokens, whole }: Passed): Bill {
	const { cachedTokens, door, promptTokens, stream, tokensPerEvent } = planned;
	const served = events * tokensPerEvent;
	if (usageCame(planned, whole))
		return {
			inputTokens: exactly(promptTokens),
			cachedTokens: door === "ollama" || door === "embed" ? 0 : cachedTokens,
			outputTokens: exactly(served),
			estimated: false,
		};
	const words = prompt.split(" ").length;
	// One event is one token where its text is as short as one.
	const most = stream && tokensPerEvent === 1 ? served : Math.min(served * TOKEN_CHARACTERS, maxTokens);
	return {
		inputTokens: {
			least: Math.floor(words * LEAST_TOKENS_OF_A_WORD),
			most: Buffer.byteLength(prompt) + COUNTED_MARKS,
		},
		cachedTokens: 0,
		outputTokens: { least: Math.min(stream ? events : served, most), most },
		estimated: true,
	};
}

/** Micro-neurons of these tokens. Cached tokens are input tokens with a price of their own, where the model has one. */
export function costOf(
	model: string,
	tokens: { input_tokens: number; cached_tokens: number; output_tokens: number },
): number {
	const { input, cached = input, output } = priceOf(model);
	const { input_tokens, cached_tokens, output_tokens } = tokens;
	return (input_tokens - cached_tokens) * input + cached_tokens * cached + output_tokens * output;
}

export const isIn = ({ least, most }: Range, value: number): boolean => least <= value && value <= most;

const exactly = (value: number): Range => ({ least: value, most: value });

function priceOf(model: string): Price {
	const price = PRICES[model];
	if (!price) throw new Error(`the soak has no price of ${model}`);
	return price;
}

/** Whether the engine's counts came before so much of the answer had passed. */
function usageCame({ door, stream, usage }: Planned, whole: boolean): boolean {
	if (usage === "none" || usage === "zeros") return false;
	if (!stream || whole) return true;
	return usage === "every" && door !== "ollama";
}
