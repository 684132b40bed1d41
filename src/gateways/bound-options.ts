/** The options of a request whose token binds a gateway: metadata that the caller cannot set, and whether it may name costs. */
import type { VerifiedCredential } from "../accounts/bound-gateway.ts";
import { type GatewayOptions, MAX_METADATA } from "./options.ts";

/** The key of the token's id in the partitions of spend rules. Callers cannot set keys that begin so. */
export const TOKEN_KEY = "cf.token_id";

export function boundOptions(
	options: GatewayOptions,
	{ gateway, token }: VerifiedCredential,
): GatewayOptions {
	const { customCost, metadata, ...others } = options;
	return {
		...others,
		metadata: gateway?.metadata ? mergedMetadata(gateway.metadata, metadata) : metadata,
		customCost: gateway?.customCost === false ? undefined : customCost,
		...(gateway?.customCost && { trustsCost: true as const }),
		...(token !== undefined && { token }),
	};
}

/** The token's metadata comes first, so that none of it is dropped. */
function mergedMetadata(
	own: NonNullable<GatewayOptions["metadata"]>,
	sent: GatewayOptions["metadata"] = {},
): GatewayOptions["metadata"] {
	const added = Object.entries(sent).filter(([key]) => !Object.hasOwn(own, key));
	return Object.fromEntries([...Object.entries(own), ...added].slice(0, MAX_METADATA));
}
