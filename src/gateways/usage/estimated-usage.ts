/**
 * Estimates the tokens of an answer whose provider has sent no counts: from the texts of the request, and from the texts of the events until
 * now, or the bytes of an answer that is no stream of events. Media of the request are not counted.
 */
import { isRecord } from "../../core/json.ts";
import { Approximation } from "../../counting/tally.ts";
import { LongTokenCount } from "../../counting/token-estimate.ts";
import type { GatewayUsage } from "../gateway-usage.ts";
import { textsIn } from "../scanning/texts.ts";

/** The fields of an event that have a new part of the answer: OpenAI's, Gemini's, and those of Responses, Anthropic and Cohere. */
const PARTS = ["choices", "candidates", "delta"] as const;

/** Of an answer that is no stream of events. */
const BYTES_PER_TOKEN = 4;

export class EstimatedUsage {
	readonly #request: unknown;
	#inputTokens: number | undefined;
	readonly #output = new LongTokenCount();
	#bytes = 0;

	/** `request`: its JSON. */
	constructor(request: unknown) {
		this.#request = request;
	}

	/** Returns whether the event has text of the answer. */
	add(event: Readonly<Record<string, unknown>>): boolean {
		const texts = PARTS.flatMap((name) => textsIn(event[name]));
		for (const text of texts) this.#output.add(text);
		return texts.length > 0;
	}

	addBytes(count: number): void {
		this.#bytes += count;
	}

	get usage(): GatewayUsage {
		this.#inputTokens ??= inputTokens(this.#request);
		return {
			inputTokens: this.#inputTokens,
			cachedTokens: 0,
			outputTokens: this.#output.tokens + Math.ceil(this.#bytes / BYTES_PER_TOKEN),
			estimated: true,
		};
	}
}

function inputTokens(request: unknown): number {
	const tally = new Approximation();
	tally.opening();
	if (isRecord(request) && Array.isArray(request.messages)) tally.markers(request.messages.length);
	for (const text of textsIn(request)) tally.text(text);
	return tally.tokens;
}
