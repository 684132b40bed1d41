/** The configuration of a run through gateways. */
import { MODELS } from "../caller-request.ts";
import { SILENCE_MS, totalMsOf } from "../settings.ts";

export const MODEL = "soak/chat";
export const GUARD_MODEL = "@cf/meta/llama-guard-3-8b";

/** The gateways retry, and the routes do not. */
export function gatewaySettings(
	{ engine, guard }: { engine: string; guard: string },
	holdMs: number,
): Record<string, unknown> {
	const timeouts = { header_ms: SILENCE_MS, idle_ms: SILENCE_MS, total_ms: totalMsOf({ holdMs }) };
	const only = (backend: string) => ({
		targets: [{ backend, model: "soak" }],
		retries: { attempts: 1 },
		timeouts,
	});
	return {
		BACKENDS: {
			// The faults of this engine must not stop the requests after them.
			primary: { kind: "openai", url: `${engine}/primary/v1` },
			guard: { kind: "openai", url: `${guard}/v1` },
		},
		ROUTES: { [MODEL]: only("primary"), [GUARD_MODEL]: only("guard") },
		MODELS,
		LIMITS: { hold_ms: holdMs, requests_per_minute: "none" },
	};
}
