/**
 * The settings of a gateway, as AI Gateway's management API reads and writes them (cloudflare/cloudflare-typescript,
 * `resources/ai-gateway`). Times are in seconds unless a field names another unit. An unknown field of an object is refused, because
 * a misspelled rule would protect nothing. An unknown setting is kept, and `settings-notes.ts` names it in the answer.
 */
import * as z from "zod";
import { didYouMean } from "../core/did-you-mean.ts";
import { lazy } from "../core/lazy.ts";
import { isLinear } from "./profiles/custom-profiles.ts";
import { PROFILES } from "./profiles/profiles.ts";
import { HeaderValue, HeaderValues } from "./providers/custom-providers.ts";

const GATEWAY_ID = /^[a-z0-9_-]{1,64}$/i;
/** The gateway of requests that name none. It exists without being created. */
export const DEFAULT_GATEWAY = "default";

export const GatewayId = lazy(() => z.string().regex(GATEWAY_ID, "expected 1 to 64 letters, digits, _ or -"));

const DAY_SECONDS = 86_400;
const MAX_CACHE_TTL = 31 * DAY_SECONDS;
const MAX_WINDOW = 366 * DAY_SECONDS;
const MAX_RATE = 1_000_000_000;
const MAX_LOGS = 10_000_000;
const MAX_SPEND_USD = 1_000_000_000;
const MAX_SPEND_RULES = 20;
const MAX_POLICIES = 50;
const MAX_VALUES = 100;
/** Of metadata that a rule reads. A request has at most five. */
const MAX_METADATA_KEYS = 5;
/** Of ids of rules and policies, and of names that rules compare. */
const MAX_NAME = 1_024;
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

const Name = lazy(() => z.string().min(1).max(MAX_NAME));
const upTo = (maximum: number) => z.int().min(0).max(maximum);

const Filter = lazy(() =>
	z.strictObject({ mode: z.literal("filter"), values: z.array(z.string().max(MAX_NAME)).max(MAX_VALUES) }),
);
const Partition = lazy(() => z.strictObject({ mode: z.literal("partition") }));
const SpendRule = lazy(() =>
	z.strictObject({
		id: Name().optional(),
		enabled: z.boolean().optional(),
		limitType: z.literal("cost"),
		/** US dollars. */
		limit: z.number().positive().max(MAX_SPEND_USD),
		window: z.int().min(1).max(MAX_WINDOW),
		technique: z.enum(["fixed", "sliding"]).optional(),
		metadata: z
			.record(z.string(), z.discriminatedUnion("mode", [Filter(), Partition()]))
			.refine((keys) => Object.keys(keys).length <= MAX_METADATA_KEYS, {
				error: `expected at most ${MAX_METADATA_KEYS} keys`,
			})
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
			z
				.string()
				.regex(
					/^[a-z0-9_-]{1,64}$/i,
					'expected a name such as "order-numbers": 1 to 64 letters, digits, _ or -',
				),
			z.strictObject({
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
const Profiles = lazy(() => z.array(z.string().max(MAX_NAME)).max(MAX_VALUES));
const DlpPolicy = lazy(() =>
	z.strictObject({
		id: Name(),
		enabled: z.boolean(),
		action: DlpAction(),
		check: z.array(z.enum(["REQUEST", "RESPONSE"])),
		profiles: Profiles(),
	}),
);
const Dlp = lazy(() =>
	z
		.strictObject({
			enabled: z.boolean(),
			/** One policy: requests that have any of the profiles. */
			action: DlpAction().optional(),
			profiles: Profiles().optional(),
			/** Instead of `action` and `profiles`. */
			policies: z.array(DlpPolicy()).max(MAX_POLICIES).optional(),
			custom_profiles: CustomProfiles(),
		})
		.superRefine(({ action, profiles, policies, custom_profiles = {} }, { addIssue }) => {
			const refuse = (field: string, message: string) => addIssue({ code: "custom", path: [field], message });
			if (policies && (action || profiles))
				refuse("policies", "expected either policies, or action and profiles");
			if (!policies && !action) refuse("action", 'expected "FLAG" or "BLOCK", or policies');
			if (!policies && !profiles) refuse("profiles", "expected a list of profiles, or policies");
			// A profile that does not exist would protect nothing.
			const known = new Set([...Object.keys(PROFILES), ...Object.keys(custom_profiles)]);
			for (const name of [...(profiles ?? []), ...(policies ?? []).flatMap((policy) => policy.profiles)])
				if (!known.has(name))
					addIssue({
						code: "custom",
						message: `found the unknown profile "${name}"${didYouMean(name, [...known])}`,
					});
			for (const name of Object.keys(custom_profiles))
				if (Object.hasOwn(PROFILES, name))
					addIssue({ code: "custom", message: `the profile "${name}" exists already` });
		}),
);

const MAX_COLLECTORS = 10;
const OtelTarget = lazy(() =>
	z.strictObject({
		url: z.url({
			protocol: /^https?$/,
			error: 'expected an http or https address such as "https://collector.example.com/v1/traces"',
		}),
		headers: HeaderValues().optional(),
		authorization: HeaderValue().nullish(),
		content_type: z.enum(["json", "protobuf"]).optional(),
	}),
);
export type OtelTarget = z.infer<ReturnType<typeof OtelTarget>>;

/** The fields that an update requires. A create without them has those of the default gateway. */
const required = lazy(() => ({
	/** 0 or null: answers are cached only for requests that ask for it. */
	cache_ttl: upTo(MAX_CACHE_TTL).nullable(),
	cache_invalidate_on_update: z.boolean(),
	collect_logs: z.boolean(),
	/** 0 or null: no limit. */
	rate_limiting_interval: upTo(MAX_WINDOW).nullable(),
	rate_limiting_limit: upTo(MAX_RATE).nullable(),
}));

/** A client that removes a setting sends null. */
const optional = lazy(() => ({
	rate_limiting_technique: z.enum(["fixed", "sliding"]).nullish(),
	authentication: z.boolean().nullish(),
	retry_max_attempts: z.int().min(1).max(MAX_ATTEMPTS).nullish(),
	/** Milliseconds. */
	retry_delay: z.int().min(0).max(MAX_RETRY_DELAY_MS).nullish(),
	retry_backoff: Backoff().nullish(),
	/** The most logs that are kept. */
	log_management: z.int().min(1).max(MAX_LOGS).nullish(),
	log_management_strategy: z.enum(["STOP_INSERTING", "DELETE_OLDEST"]).nullish(),
	byok_only: z.boolean().nullish(),
	/** Estimates the tokens of streams that are passed to a provider, if it sends no counts. The product has no such field. */
	estimate_usage: z.boolean().nullish(),
	guardrails: z.strictObject({ prompt: Hazards().optional(), response: Hazards().optional() }).nullish(),
	dlp: Dlp().nullish(),
	/** Each request is sent to all of them. */
	otel: z.array(OtelTarget()).max(MAX_COLLECTORS).nullish(),
	spend_limits: z
		.strictObject({ enabled: z.boolean(), rules: z.array(SpendRule()).max(MAX_SPEND_RULES) })
		.nullish(),
}));

export const GatewayUpdate = lazy(() => z.looseObject({ ...required(), ...optional() }));
/** Only `id` is required, unlike in the product, which also requires the fields of an update. */
export const GatewayCreate = lazy(() =>
	z.looseObject({
		...required(),
		cache_ttl: required().cache_ttl.default(DEFAULT_SETTINGS.cache_ttl),
		cache_invalidate_on_update: required().cache_invalidate_on_update.default(
			DEFAULT_SETTINGS.cache_invalidate_on_update,
		),
		collect_logs: required().collect_logs.default(DEFAULT_SETTINGS.collect_logs),
		rate_limiting_interval: required().rate_limiting_interval.default(
			DEFAULT_SETTINGS.rate_limiting_interval,
		),
		rate_limiting_limit: required().rate_limiting_limit.default(DEFAULT_SETTINGS.rate_limiting_limit),
		...optional(),
		id: GatewayId(),
	}),
);
export type GatewayUpdate = z.infer<ReturnType<typeof GatewayUpdate>>;

export interface GatewaySettings extends GatewayUpdate {
	id: string;
	/** ISO 8601. */
	created_at: string;
	modified_at: string;
	is_default: boolean;
}

/** The gateway `default` until it is changed. A new gateway has them in place of fields that are absent. */
export const DEFAULT_SETTINGS: GatewayUpdate = {
	cache_ttl: 0,
	cache_invalidate_on_update: false,
	collect_logs: true,
	rate_limiting_interval: 0,
	rate_limiting_limit: 0,
	rate_limiting_technique: "fixed",
	authentication: true,
};
