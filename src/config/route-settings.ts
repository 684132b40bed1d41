/** The fields of a route and of its targets. */
import * as z from "zod";
import type { Timeouts } from "../backends/backend.ts";
import { present } from "../core/present.ts";
import { DEFAULT_RETRIES, type Retries, type RouteSettings } from "../pipeline/plan.ts";
import { fieldNotes, kindOf } from "../schemas/explain.ts";
import { positiveAmount } from "./amounts.ts";
import { camelCased } from "./camel-case.ts";
import { type Env, headers } from "./headers.ts";
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

/** Besides `targets`. */
const RouteFields = z.strictObject({
	// Parsed separately.
	shadow: z.unknown().optional(),
	timeouts: SetTimeouts.optional(),
	retries: RetriesSetting.optional(),
	hedge_ms: milliseconds.optional(),
	coalesce_ms: z.int().min(MIN_COALESCE_MS).max(MAX_COALESCE_MS).optional(),
	sticky: z.literal("session").optional(),
	passthrough: z.boolean().optional(),
	strict: z.boolean().optional(),
});

/** `*` alone would allow all models of the engine. */
const adapter = z
	.string()
	.regex(/^[^*\s]+\*?$/, 'expected the name of an adapter, or how some begin and a "*", found another');

/** A header of each answer. */
const weights = z
	.string()
	.regex(
		/^[\x21-\x7e](?:[\x20-\x7e]{0,254}[\x21-\x7e])?$/,
		"expected up to 256 characters that fit into a header, found another text",
	);

export const TARGET_EXAMPLE = '{"backend": "NAME"}';

const fieldsOfTarget = (env: Env) => ({
	// Checked against the backends.
	backend: z.unknown().optional(),
	model: z
		.string()
		.min(1)
		.refine((model) => !model.includes("*"), "expected the name of one model, found a pattern")
		.optional(),
	weight: positiveAmount.optional(),
	headers: headers(env).optional(),
	timeouts: SetTimeouts.optional(),
	continues: z.literal([true, false, "prefill", "vllm"]).optional(),
	weights: weights.optional(),
	loras: z.array(adapter).min(1).optional(),
});

/** Whether only targets have the field. */
export const isOfTargets = (field: string): boolean =>
	Object.hasOwn(fieldsOfTarget({}), field) && !Object.hasOwn(RouteFields.shape, field);

/** Whether only routes have the field. */
export const isOfRoutes = (field: string): boolean =>
	Object.hasOwn(RouteFields.shape, field) && !Object.hasOwn(fieldsOfTarget({}), field);

export const TargetsSetting = (env: Env) =>
	z
		.array(
			z
				.strictObject(
					{
						...fieldsOfTarget(env),
						// Set by `--engine local`, for the list of routes.
						weights_absent: z.literal(true).optional(),
					},
					{
						error: ({ code, input }) =>
							code === "invalid_type"
								? `expected a target such as ${TARGET_EXAMPLE}, found ${kindOf(input)}`
								: undefined,
					},
				)
				.register(fieldNotes, {
					unknown: (field) =>
						isOfRoutes(field)
							? ` of a target: it is a setting of the route, as in {"targets": [${TARGET_EXAMPLE}], "${field}": …}`
							: undefined,
					internal: ["weights_absent"],
				}),
		)
		.min(1);

export const Settings = RouteFields.extend({
	// Parsed separately.
	targets: z.unknown(),
})
	.refine(({ hedge_ms, passthrough }) => !passthrough || hedge_ms === undefined, {
		path: ["hedge_ms"],
		error: 'is not possible with "passthrough": true: remove one of the two',
	})
	.register(fieldNotes, {
		unknown: (field) =>
			isOfTargets(field) ? `: it is a field of a target, as in targets[0].${field}` : undefined,
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
