/**
 * The settings of a gateway, as AI Gateway's management API reads and writes them (cloudflare/cloudflare-typescript,
 * `resources/ai-gateway`). Times are in seconds unless a field names another unit. Unknown fields are kept.
 */
import * as z from "zod";
import { lazy } from "../core/lazy.ts";
import { isLinear } from "./dlp/custom-profiles.ts";
import { PROFILES } from "./dlp/profiles.ts";
import { HeaderValue, HeaderValues } from "./providers/custom-providers.ts";

const GATEWAY_ID = /^[a-z0-9_-]{1,64}$/i;
/** The gateway of requests that name none. It exists without being created. */
export const DEFAULT_GATEWAY = "default";

export const GatewayId = lazy(() => z.string().regex(GATEWAY_ID, "expected 1 to 64 letters, digits, _ or -"));

const count = lazy(() => z.int().min(0));
const MAX_ATTEMPTS = 5;
const MAX_RETRY_DELAY_MS = 60_000;
export const Backoff = lazy(() => z.enum(["constant", "linear", "exponential"]));
export type Backoff = z.infer<ReturnType<typeof Backoff>>;

const HAZARD = /^(?:P1|S(?:[1-9]|1[0-3]))$/;
/** The action for each hazard category of Llama Guard. A missing category is ignored. */
const Hazards = lazy(() =>
	z.record(z.string(), z.enum(["FLAG", "BLOCK"])).superRefine((actions, { addIssue }) => {
		for (const name of Object.keys(actions))
			if (!HAZARD.test(name))
				addIssue({ code: "custom", path: [name], message: "expected the hazards S1 to S13 and P1" });
	}),
);

const Filter = lazy(() => z.object({ mode: z.literal("filter"), values: z.array(z.string()) }));
const SpendRule = lazy(() =>
	z.looseObject({
		id: z.string().optional(),
		enabled: z.boolean().optional(),
		limitType: z.literal("cost"),
		/** US dollars. */
		limit: z.number().positive(),
		window: z.int().positive(),
		technique: z.enum(["fixed", "sliding"]).optional(),
		metadata: z
			.record(
				z.string(),
				z.discriminatedUnion("mode", [Filter(), z.object({ mode: z.literal("partition") })]),
			)
			.optional(),
		model: Filter().optional(),
		provider: Filter().optional(),
	}),
);
export type SpendRule = z.infer<ReturnType<typeof SpendRule>>;

const DlpAction = lazy(() => z.enum(["FLAG", "BLOCK"]));
const MAX_CUSTOM_PROFILES = 50;
const MAX_PATTERN = 500;
const CustomProfiles = lazy(() =>
	z
		.record(
			z.string().regex(/^[a-z0-9_-]{1,64}$/i),
			z.object({
				pattern: z
					.string()
					.min(1)
					.max(MAX_PATTERN)
					.refine(isLinear, "expected a regular expression whose search takes linear time"),
			}),
		)
		.refine((profiles) => Object.keys(profiles).length <= MAX_CUSTOM_PROFILES, {
			error: `expected at most ${MAX_CUSTOM_PROFILES} profiles`,
		})
		.optional(),
);
const Profiles = lazy(() => z.array(z.string()));
const DlpPolicy = lazy(() =>
	z.looseObject({
		id: z.string(),
		enabled: z.boolean(),
		action: DlpAction(),
		check: z.array(z.enum(["REQUEST", "RESPONSE"])),
		profiles: Profiles(),
	}),
);
const Dlp = lazy(() =>
	z
		.union([
			z.looseObject({
				enabled: z.boolean(),
				policies: z.array(DlpPolicy()),
				custom_profiles: CustomProfiles(),
			}),
			z.looseObject({
				enabled: z.boolean(),
				action: DlpAction(),
				profiles: Profiles(),
				custom_profiles: CustomProfiles(),
			}),
		])
		// A profile that does not exist would protect nothing.
		.superRefine(({ custom_profiles = {}, policies, profiles }, { addIssue }) => {
			const known = new Set([...Object.keys(PROFILES), ...Object.keys(custom_profiles)]);
			const named = [policies, profiles].flatMap((list) => (Array.isArray(list) ? list : []));
			for (const each of named)
				for (const name of typeof each === "string" ? [each] : each.profiles)
					if (!known.has(name)) addIssue({ code: "custom", message: `found the unknown profile "${name}"` });
			for (const name of Object.keys(custom_profiles))
				if (Object.hasOwn(PROFILES, name))
					addIssue({ code: "custom", message: `the profile "${name}" exists already` });
		}),
);

const MAX_COLLECTORS = 10;
const OtelTarget = lazy(() =>
	z.looseObject({
		url: z.url({ protocol: /^https?$/ }),
		headers: HeaderValues().optional(),
		authorization: HeaderValue().nullish(),
		content_type: z.enum(["json", "protobuf"]).optional(),
	}),
);
export type OtelTarget = z.infer<ReturnType<typeof OtelTarget>>;

/** The fields that a create and an update require. */
const required = lazy(() => ({
	/** 0 or null: answers are cached only for requests that ask for it. */
	cache_ttl: count().nullable(),
	cache_invalidate_on_update: z.boolean(),
	collect_logs: z.boolean(),
	/** 0 or null: no limit. */
	rate_limiting_interval: count().nullable(),
	rate_limiting_limit: count().nullable(),
}));

const optional = lazy(() => ({
	rate_limiting_technique: z.enum(["fixed", "sliding"]).nullish(),
	authentication: z.boolean().optional(),
	retry_max_attempts: z.int().min(1).max(MAX_ATTEMPTS).nullish(),
	/** Milliseconds. */
	retry_delay: z.int().min(0).max(MAX_RETRY_DELAY_MS).nullish(),
	retry_backoff: Backoff().nullish(),
	/** The most logs that are kept. */
	log_management: z.int().positive().nullish(),
	log_management_strategy: z.enum(["STOP_INSERTING", "DELETE_OLDEST"]).nullish(),
	byok_only: z.boolean().optional(),
	/** Estimates the tokens of streams that are passed to a provider, if it sends no counts. The product has no such field. */
	estimate_usage: z.boolean().optional(),
	guardrails: z.looseObject({ prompt: Hazards().optional(), response: Hazards().optional() }).nullish(),
	dlp: Dlp().nullish(),
	/** Each request is sent to all of them. */
	otel: z.array(OtelTarget()).max(MAX_COLLECTORS).nullish(),
	spend_limits: z.looseObject({ enabled: z.boolean(), rules: z.array(SpendRule()).max(20) }).nullish(),
}));

export const GatewayUpdate = lazy(() => z.looseObject({ ...required(), ...optional() }));
export const GatewayCreate = lazy(() => GatewayUpdate().extend({ id: GatewayId() }));
export type GatewayUpdate = z.infer<ReturnType<typeof GatewayUpdate>>;

export interface GatewaySettings extends GatewayUpdate {
	id: string;
	/** ISO 8601. */
	created_at: string;
	modified_at: string;
	is_default: boolean;
}

/** The gateway `default` until it is changed. */
export const DEFAULT_SETTINGS: GatewayUpdate = {
	cache_ttl: 0,
	cache_invalidate_on_update: false,
	collect_logs: true,
	rate_limiting_interval: 0,
	rate_limiting_limit: 0,
	rate_limiting_technique: "fixed",
	authentication: true,
};
