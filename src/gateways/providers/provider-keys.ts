/**
 * Keys of providers that an account stores for a gateway (`provider_configs`). A key is found by its provider and its alias. The
 * management API shows the last characters of a key, and never the key.
 */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";

const DEFAULT_ALIAS = "default";

const Alias = lazy(() => z.string().regex(/^[\w.-]{1,64}$/, "expected 1 to 64 letters, digits, _, . or -"));

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
		/** The product's limit of a key. */
		rate_limit: z.literal(0, "keys have no limits of their own here: use those of the gateway").nullish(),
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
	/** ISO 8601. */
	modified_at: string;
}

/** A key as requests use it. */
export interface ProviderKey {
	id: string;
	provider: string;
	alias: string;
	isDefault: boolean;
	secret: string;
	/** Epoch milliseconds. */
	modifiedAt: number;
}

const MIN_PREVIEWED = 16;

/** Short secrets have no preview: four characters would be a large part. */
export const previewOf = (secret: string): string =>
	secret.length < MIN_PREVIEWED ? "…" : `…${secret.slice(-4)}`;

/** `alias`: of the request. Absent: the alias `default`, or else the default key. */
export function findKey(
	keys: readonly ProviderKey[],
	provider: string,
	alias: string | undefined,
): ProviderKey | undefined {
	const ofProvider = keys.filter((key) => key.provider === provider);
	const named = ofProvider.find((key) => key.alias === (alias ?? DEFAULT_ALIAS));
	return named ?? (alias === undefined ? ofProvider.find((key) => key.isDefault) : undefined);
}
