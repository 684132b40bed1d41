/** The gateway's configuration in a run. */
import { MODELS } from "./caller-request.ts";
import type { Api } from "./plan.ts";
import { type PlanSize, REQUESTS_PER_TIGHT_ACCOUNT, TIGHT_SHARE, tightAccounts } from "./plan.ts";

export interface Times {
	/** Longer than any answer of a run. Open requests of a killed Worker are charged after this time. */
	holdMs: number;
}

/** The variable `LEDGER`. */
export type LedgerMode = "exact" | "leased";

/** The gateway stops waiting for an engine that is silent for this time. */
export const SILENCE_MS = 1_500;
/** Difference between the clocks of the gateway and of the soak, which has the callers and the engine. */
export const CLOCKS_MS = 100;
/** Share of `hold_ms` for all calls of a request. A request that takes longer than `hold_ms` is charged its reservation. */
const TOTAL_SHARE = 0.7;
const RETRIES = { attempts: 2, base_ms: 20, max_ms: 100 };

/** Maximum calls of engines for one request: the attempts of each target of its route. */
export const maxCallsOf = (api: Api): number => RETRIES.attempts * (api === "pair" ? 2 : 1);

/** After this time the gateway ends a request. */
export const totalMsOf = ({ holdMs }: Times): number => Math.floor(holdMs * TOTAL_SHARE);

export const RATE_PER_MINUTE = 120;

/** Neurons per day of an account whose requests need about twice as much. */
const TIGHT_NEURONS = 110;
/** The same, per request of the run. */
const SHARE_OF_NARROW_CHAT = 0.1;
const SHARE_OF_NARROW_NATIVE = 0.045;
const SHARE_OF_BUDGETED = 0.1;
const LEAST_NEURONS = 60;

export const budgetedNeurons = (requests: number): number =>
	Math.max(LEAST_NEURONS, requests * SHARE_OF_BUDGETED);

export function settingsOf(
	engine: string,
	requests: number,
	{
		holdMs,
		ledger = "exact",
		shards,
		tight,
	}: Times & Pick<PlanSize, "shards" | "tight"> & { ledger?: LedgerMode | undefined },
): Record<string, unknown> {
	// The routes have these limits, because a backend's `total_ms` applies to each call, and a request makes up to four.
	const timeouts = { header_ms: SILENCE_MS, idle_ms: SILENCE_MS, total_ms: totalMsOf({ holdMs }) };
	const only = (backend: string) => ({
		targets: [{ backend, model: "soak" }],
		retries: RETRIES,
		timeouts,
	});
	const names = tightAccounts({ requests, shards, tight });
	const perAccount = (requests * TIGHT_SHARE) / 100 / names.length;
	const tightNeurons = shards ? (TIGHT_NEURONS * perAccount) / REQUESTS_PER_TIGHT_ACCOUNT : TIGHT_NEURONS;
	const tightLimits = names.map((name) => [name, { daily_neurons: tightNeurons }]);
	return {
		LEDGER: ledger,
		...(shards && { SHARDS: shards }),
		BACKENDS: {
			primary: { kind: "openai", url: `${engine}/primary/v1` },
			second: { kind: "openai", url: `${engine}/second/v1` },
			ollama: { kind: "ollama", url: `${engine}/ollama` },
		},
		ROUTES: {
			"soak/chat": only("primary"),
			"soak/embed": only("primary"),
			"soak/ollama": only("ollama"),
			"soak/pair": {
				targets: [
					{ backend: "primary", model: "soak" },
					{ backend: "second", model: "soak" },
				],
				retries: RETRIES,
				timeouts,
			},
			"@cf/*": only("primary"),
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
				...Object.fromEntries(tightLimits),
			},
		},
	};
}
