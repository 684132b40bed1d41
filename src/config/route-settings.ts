/** Settings of a route besides its targets: timeouts, retries, hedging. */
import * as z from "zod";
import type { Timeouts } from "../backends/backend.ts";
import { present } from "../core/present.ts";
import { DEFAULT_RETRIES, type Retries, type RouteSettings } from "../pipeline/plan.ts";
import { fieldNotes } from "../schemas/explain.ts";
import { camelCased } from "./camel-case.ts";
import { milliseconds, SetTimeouts } from "./timeouts.ts";

const MAX_ATTEMPTS = 10;
/** A shorter wait costs more than it saves. */
const MIN_COALESCE_MS = 4;
const MAX_COALESCE_MS = 250;

const RetriesSetting = z
	.strictObject({
		attempts: z.int().min(1).max(MAX_ATTEMPTS).default(DEFAULT_RETRIES.attempts),
		base_ms: milliseconds.default(DEFAULT_RETRIES.baseMs),
		max_ms: milliseconds.default(DEFAULT_RETRIES.maxMs),
	})
	.transform((set): Retries => camelCased(set));

export interface ReadSettings {
	settings?: RouteSettings;
	/** Whether inputs are validated as the product does. Absent: depends on the kinds of the route's targets. */
	strict?: boolean;
	/** Timeouts of each call, unless its target has its own. */
	timeouts: Partial<Timeouts>;
}

/** Those that a route does not have. */
export const FIELDS_OF_TARGETS = new Set([
	"backend",
	"continues",
	"headers",
	"loras",
	"model",
	"weight",
	"weights",
]);

/** Those that a target does not have. */
export const FIELDS_OF_ROUTES = new Set([
	"coalesce_ms",
	"hedge_ms",
	"passthrough",
	"retries",
	"shadow",
	"sticky",
	"strict",
]);

export const Settings = z
	.strictObject({
		// Parsed separately.
		targets: z.unknown(),
		shadow: z.unknown().optional(),
		timeouts: SetTimeouts.optional(),
		retries: RetriesSetting.optional(),
		hedge_ms: milliseconds.optional(),
		coalesce_ms: z.int().min(MIN_COALESCE_MS).max(MAX_COALESCE_MS).optional(),
		sticky: z.literal("session").optional(),
		passthrough: z.boolean().optional(),
		strict: z.boolean().optional(),
	})
	.refine(({ hedge_ms, passthrough }) => !passthrough || hedge_ms === undefined, {
		path: ["hedge_ms"],
		error: 'is not possible with "passthrough": true: remove one of the two',
	})
	.register(fieldNotes, {
		unknown: (field) =>
			FIELDS_OF_TARGETS.has(field) ? `: it is a field of a target, as in targets[0].${field}` : undefined,
	})
	.transform(
		({ timeouts = {}, retries, hedge_ms, coalesce_ms, sticky, passthrough, strict }): ReadSettings => {
			const { totalMs, ...ofEachCall } = timeouts;
			return {
				timeouts: ofEachCall,
				...present({ strict }),
				settings: present({
					totalMs,
					retries,
					hedgeMs: hedge_ms,
					coalesceMs: coalesce_ms,
					sticky,
					passthrough,
				}),
			};
		},
	);
