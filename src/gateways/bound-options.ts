/**
 * The options of a request whose token or account binds a gateway: metadata that the caller cannot set, whether it may name costs, and its
 * log, which it cannot switch off if it must use the gateway.
 */
import { type GatewayOptions, MAX_METADATA } from "./options.ts";

/** The key of the token's id in the partitions of spend rules. Callers cannot set keys that begin so. */
export const TOKEN_KEY = "cf.token_id";

/** The facts of a verified token that change the options of its requests. */
interface BoundToken {
	/** Its id. Absent for the operator. */
	token?: string;
	gateway?: {
		mode: "required" | "default";
		metadata?: NonNullable<GatewayOptions["metadata"]>;
		customCost?: boolean;
	};
}

/** The settings of the gateway decide. */
const WITH_LOG = { collectLog: undefined, collectLogPayload: undefined };

export function boundOptions(options: GatewayOptions, { gateway, token }: BoundToken): GatewayOptions {
	const { customCost, metadata, ...others } = options;
	return {
		...others,
		metadata: gateway?.metadata ? mergedMetadata(gateway.metadata, metadata) : metadata,
		customCost: gateway?.customCost === false ? undefined : customCost,
		...(gateway?.customCost && { trustsCost: true as const }),
		...(gateway?.mode === "required" && WITH_LOG),
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
