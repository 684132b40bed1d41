/**
 * The account's credential for a provider: the key that the request contains, or else the one that the account has stored. The
 * operator's key is the pipeline's, or that of `PROVIDER_KEYS` if the operator shares it.
 */
import { accountOfToken, digest, hexadecimal } from "../../accounts/token-text.ts";
import { AiError } from "../../core/errors.ts";
import { findKey, type KeyLimit, type ProviderKey } from "../../providers/provider-key.ts";
import type { GatewayOptions } from "../options.ts";
import { type KeyHeader, keyHeaderOf } from "../providers/addresses.ts";
import { withoutScheme } from "../providers/headers.ts";
import type { GatewayServices } from "../services.ts";
import type { GatewaySettings } from "../settings.ts";

interface AccountCredential {
	/** The headers of the key. */
	headers: readonly (readonly [name: string, value: string])[];
	/** The key alone, for a provider that the pipeline calls. */
	key: string;
	/** Differs for two keys, and contains neither. */
	identity: string;
	/** Of a stored key that has one. */
	limit?: KeyLimit | undefined;
}

interface CredentialRequest {
	/** The provider's slug. */
	provider: string;
	/** The path of the request, if it is passed to the provider. */
	endpoint?: string;
	/** Headers of the request, without the credential of this gateway. */
	headers: Headers;
	options: GatewayOptions;
	keys: readonly ProviderKey[];
}

/** `undefined`: the account has none. Throws 2040 if no key has the alias of the request. */
export function accountCredential({
	provider,
	endpoint,
	headers,
	options,
	keys,
}: CredentialRequest): AccountCredential | undefined {
	const header = keyHeaderOf(provider, endpoint);
	const sent = [...new Set([header.name, "authorization"])].flatMap((name) => {
		const value = headers.get(name);
		return value && !isToken(value) ? [[name, value] as const] : [];
	});
	const [first] = sent;
	if (first)
		return {
			headers: sent,
			key: withoutScheme(first[1]),
			identity: `request:${hexadecimal(digest(JSON.stringify(sent)))}`,
		};
	const { byokAlias } = options;
	const stored = findKey(keys, provider, byokAlias);
	if (stored) {
		const identity = `stored:${stored.id}:${stored.modifiedAt}`;
		const { secret, limit } = stored;
		return { headers: [keyHeader(header, secret)], key: secret, identity, limit };
	}
	if (byokAlias !== undefined) throw noStoredKey(provider, byokAlias, keys);
	return undefined;
}

/** A token of this gateway never reaches a provider. */
const isToken = (value: string): boolean => accountOfToken(withoutScheme(value)) !== undefined;

const keyHeader = ({ name, scheme }: KeyHeader, key: string): readonly [string, string] => [
	name,
	scheme ? `${scheme} ${key}` : key,
];

function noStoredKey(provider: string, alias: string, keys: readonly ProviderKey[]): AiError {
	const aliases = keys.filter((key) => key.provider === provider).map((key) => key.alias);
	return new AiError(
		"noStoredKey",
		`No key with the alias "${alias}" is stored for ${provider}. Aliases: ${aliases.join(", ") || "none"}`,
	);
}

/** Throws 2040 if the gateway or the request forbids the operator's key. */
export function requireWholesale(
	provider: string,
	{ settings, options }: { settings: GatewaySettings; options: GatewayOptions },
): void {
	if (settings.byok_only || options.noWholesale)
		throw new AiError("noStoredKey", `No key is stored for ${provider}, and this request uses no other key`);
}

/** The operator's key for any endpoint of a provider. Throws 2021. */
export function operatorCredential(
	provider: string,
	author: string | undefined,
	{ gatewayRules, routing }: Pick<GatewayServices, "gatewayRules" | "routing">,
): readonly [string, string] {
	const targets = author === undefined ? [] : (routing.find(`${author}/*`)?.targets ?? []);
	const key = targets.find(({ backend }) => backend === author)?.key;
	if (key === undefined || !gatewayRules.shareProviderKeys)
		throw new AiError(
			"missingProviderKey",
			`Insufficient AI Gateway credits: this endpoint of ${provider} needs a key of the provider: in the gateway's provider_configs, or in the request together with the header cf-aig-authorization`,
		);
	return keyHeader(keyHeaderOf(provider), key);
}
