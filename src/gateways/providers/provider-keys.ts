/**
 * Keys of providers that an account stores for a gateway (`provider_configs`). A key is found by its provider and its alias. The
 * management API shows the last characters of a key, and never the key.
 */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { DEFAULT_ALIAS, type KeyLimit, type ProviderKey } from "../../providers/provider-key.ts";

const Alias = lazy(() => z.string().regex(/^[\w.-]{1,64}$/, "expected 1 to 64 letters, digits, _, . or -"));

const MAX_RATE_LIMIT = 1_000_000_000;
const PERIOD_SECONDS = { second: 1, minute: 60, hour: 3_600, day: 86_400 } as const;
const PERIODS = Object.keys(PERIOD_SECONDS) as (keyof typeof PERIOD_SECONDS)[];

export const ProviderKeyCreate = lazy(() =>
	z.object({
		alias: Alias().default(DEFAULT_ALIAS),
		/** Used if no key has the alias `default`. */
		default_config: z.boolean().default(false),
		provider_slug: z.string().regex(/^[a-z0-9-]{1,128}$/, "expected a provider's slug"),
		/** Visible ASCII, because it becomes a header. */
		secret: z
			.string("expected the text of the key, because keys of Secrets Store (secret_id) are not read here")
			.regex(/^[\x21-\x7e]{1,8192}$/, "expected 1 to 8192 visible ASCII characters"),
		/** Requests with this key in each period. 0: no limit. */
		rate_limit: z.int().min(0).max(MAX_RATE_LIMIT).nullish(),
		/** Seconds, or the name of a unit. */
		rate_limit_period: z
			.union([z.enum(PERIODS), z.int().min(1).max(PERIOD_SECONDS.day)], {
				error: `expected seconds up to ${PERIOD_SECONDS.day}, or one of: ${PERIODS.join(", ")}`,
			})
			.nullish(),
	}),
);
export type ProviderKeyCreate = z.infer<ReturnType<typeof ProviderKeyCreate>>;

/** A key as the management API shows it. */
export interface ProviderKeyInfo {
	id: string;
	gateway_id: string;
	provider_slug: string;
	alias: string;
	default_config: boolean;
	secret_id: string;
	/** The last four characters, after dots. */
	secret_preview: string;
	/** 0: none. */
	rate_limit: number;
	/** Seconds, or the name of a unit, as it was sent. */
	rate_limit_period: ProviderKeyCreate["rate_limit_period"];
	/** ISO 8601. */
	modified_at: string;
}

/** `undefined`: the key has no limit. */
export function keyLimitOf(
	{ id, provider, alias }: Pick<ProviderKey, "id" | "provider" | "alias">,
	{
		rate_limit: requests,
		rate_limit_period: sent,
	}: Pick<ProviderKeyCreate, "rate_limit" | "rate_limit_period">,
): KeyLimit | undefined {
	if (!requests) return undefined;
	const period = sent ?? "minute";
	const seconds = typeof period === "number" ? period : PERIOD_SECONDS[period];
	return { id, provider, alias, requests, windowMs: seconds * 1_000 };
}

const MIN_PREVIEWED = 16;

/** Short secrets have no preview: four characters would be a large part. */
export const previewOf = (secret: string): string =>
	secret.length < MIN_PREVIEWED ? "…" : `…${secret.slice(-4)}`;
