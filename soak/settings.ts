/** How the gateway of a run is configured. */

import type { Door } from "./plan.ts";
import { tightAccounts } from "./plan.ts";
import { MODELS } from "./question.ts";

export interface Times {
	/** Longer than any answer of a run takes: what a killed Worker had open is billed after it. */
	holdMs: number;
}

/** An engine that is silent for so long is given up. */
export const SILENCE_MS = 1_500;
/** Of `hold_ms`: all calls of a request together. What takes longer than `hold_ms` is billed as reserved. */
const TOTAL_SHARE = 0.7;
const RETRIES = { attempts: 2, base_ms: 20, max_ms: 100 };

/** Most calls of engines for one request: so many of each of its route's targets. */
export const mostCallsOf = (door: Door): number => RETRIES.attempts * (door === "pair" ? 2 : 1);

/** After so long the gateway ends a request by itself, whatever its engines do. */
export const totalMsOf = ({ holdMs }: Times): number => Math.floor(holdMs * TOTAL_SHARE);

export const RATE_PER_MINUTE = 120;

/** Neurons a day for one that asks for about twice as much. */
const TIGHT_NEURONS = 110;
/** The same, for each request of the run. */
const SHARE_OF_NARROW_CHAT = 0.1;
const SHARE_OF_NARROW_NATIVE = 0.045;
const SHARE_OF_BUDGETED = 0.1;
const LEAST_NEURONS = 60;

export const budgetedNeurons = (requests: number): number =>
	Math.max(LEAST_NEURONS, requests * SHARE_OF_BUDGETED);

export function settingsOf(engine: string, requests: number, { holdMs }: Times): Record<string, unknown> {
	// Of the routes: a backend's `total_ms` bounds each call alone, and a request makes up to four.
	const timeouts = { header_ms: SILENCE_MS, idle_ms: SILENCE_MS, total_ms: totalMsOf({ holdMs }) };
	const alone = (backend: string) => ({
		targets: [{ backend, model: "soak" }],
		retries: RETRIES,
		timeouts,
	});
	const tight = tightAccounts(requests).map((name) => [name, { daily_neurons: TIGHT_NEURONS }]);
	return {
		BACKENDS: {
			primary: { kind: "openai", url: `${engine}/primary/v1` },
			second: { kind: "openai", url: `${engine}/second/v1` },
			ollama: { kind: "ollama", url: `${engine}/ollama` },
		},
		ROUTES: {
			"soak/chat": alone("primary"),
			"soak/embed": alone("primary"),
			"soak/ollama": alone("ollama"),
			"soak/pair": {
				targets: [
					{ backend: "primary", model: "soak" },
					{ backend: "second", model: "soak" },
				],
				retries: RETRIES,
				timeouts,
			},
			"@cf/*": alone("primary"),
		},
		MODELS,
		LIMITS: {
			hold_ms: holdMs,
			requests_per_minute: "none",
			accounts: {
				rated: {
					requests_per_minute: { "Text Generation": RATE_PER_MINUTE, "Text Embeddings": RATE_PER_MINUTE },
				},
				narrow: {
					models: {
						"soak/chat": { daily_neurons: Math.max(LEAST_NEURONS, requests * SHARE_OF_NARROW_CHAT) },
						"@cf/meta/llama-3.1-8b-instruct": {
							daily_neurons: Math.max(LEAST_NEURONS, requests * SHARE_OF_NARROW_NATIVE),
						},
					},
				},
				...Object.fromEntries(tight),
			},
		},
	};
}
