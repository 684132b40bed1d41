/** A key of a provider that a gateway stores, as requests use it. */

export const DEFAULT_ALIAS = "default";

export interface ProviderKey {
	id: string;
	provider: string;
	alias: string;
	isDefault: boolean;
	secret: string;
	/** Epoch milliseconds. */
	modifiedAt: number;
	limit?: KeyLimit | undefined;
}

/** The requests with one stored key. */
export interface KeyLimit {
	/** Of the key. */
	id: string;
	provider: string;
	alias: string;
	requests: number;
	windowMs: number;
}

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
