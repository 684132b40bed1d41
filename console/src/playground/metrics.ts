/** What a call has cost and how fast it was, from the headers, the usage and the clock. */
import type { ResponseUsage } from "../api/types.ts";

export interface Metrics {
	/** Milliseconds from the call to the end of the answer. */
	totalMs: number;
	/** Milliseconds to the first text. Absent for an answer that is not streamed. */
	firstTokenMs?: number;
	inputTokens?: number;
	outputTokens?: number;
	neurons?: number;
	backend?: string;
	/** The engine's name of the model. */
	engineModel?: string;
	/** The weights behind it. */
	weights?: string;
	attempts?: number;
}

/** Measures one call. */
export class Stopwatch {
	readonly #started = performance.now();
	#firstTokenMs: number | undefined;

	text(): void {
		this.#firstTokenMs ??= performance.now() - this.#started;
	}

	metrics(headers: Headers, usage?: ResponseUsage): Metrics {
		const neurons = usage?.neurons ?? numberIn(headers, "cf-ai-neurons");
		const attempts = numberIn(headers, "x-ganglion-attempts");
		const backend = headers.get("x-ganglion-backend");
		const engineModel = headers.get("x-ganglion-model");
		const weights = headers.get("x-ganglion-weights");
		return {
			totalMs: performance.now() - this.#started,
			...(this.#firstTokenMs !== undefined && { firstTokenMs: this.#firstTokenMs }),
			...(usage?.prompt_tokens !== undefined && { inputTokens: usage.prompt_tokens }),
			...(usage?.completion_tokens !== undefined && { outputTokens: usage.completion_tokens }),
			...(neurons !== undefined && { neurons }),
			...(attempts !== undefined && { attempts }),
			...(backend !== null && { backend }),
			...(engineModel !== null && { engineModel: decodeURI(engineModel) }),
			...(weights !== null && { weights }),
		};
	}
}

/** Output tokens for each second after the first one, or of the complete call if all arrived at once. */
export function tokensPerSecond({
	totalMs,
	firstTokenMs = 0,
	outputTokens = 0,
}: Metrics): number | undefined {
	const seconds = (totalMs - firstTokenMs || totalMs) / 1_000;
	return outputTokens > 0 && seconds > 0 ? outputTokens / seconds : undefined;
}

function numberIn(headers: Headers, name: string): number | undefined {
	const text = headers.get(name);
	return text === null ? undefined : Number(text);
}
