/** The gateway that a token or an account binds, at the surfaces: the account's object enforces it at the admission of each request. */
import type { Ledgers } from "../../accounts/admission.ts";
import { GatewayRequired, refuseElsewhere } from "../../accounts/bound-gateway.ts";
import { AiError } from "../../core/errors.ts";
import { identifyCaller } from "../../http/authenticate.ts";
import type { Caller } from "../../pipeline/request.ts";

/** The caller of a request that runs in this gateway. `caller`: identified. Throws if its token or its account binds another gateway. */
export function inBoundGateway(caller: Caller, gateway: string): Caller {
	const credential = { ...caller.credential, gateway };
	const refused = refuseElsewhere(caller.identity?.gateway, credential);
	if (refused) throw new GatewayRequired(refused.gateway, refused.description);
	return { ...caller, credential };
}

/** Throws 5006 if a request for a live model names a gateway: its rules would not apply to the frames. */
export function refuseLiveInGateway(gateway: string | undefined): void {
	if (gateway !== undefined)
		throw new AiError(
			"invalidInput",
			"Invalid input: the websocket of a live model runs in no gateway: leave out cf-aig-gateway-id, or options.gateway.id",
		);
}

/**
 * Throws if the caller's token binds another gateway. For routes of a gateway that run no model. The operator may read every gateway.
 */
export async function requireGateway(
	caller: Caller,
	gateway: string,
	{ ledgers }: { ledgers: Ledgers },
): Promise<void> {
	if (caller.credential.kind !== "operator") inBoundGateway(await identifyCaller(caller, ledgers), gateway);
}
