/**
 * A token, or a whole account, binds a gateway: its requests run in that gateway, so the gateway's rules and logs apply to all of them.
 * The account's object enforces it at every admission. Not in the product. docs/security.md, "A gateway that callers cannot avoid".
 */
import { AiError } from "../core/errors.ts";

export interface BoundGateway {
	/** The id of the gateway. */
	id: string;
	/** `required`: every other request is refused. `default`: for requests that name no gateway. */
	mode: "required" | "default";
	/** Part of the metadata of every request. The caller can neither change nor remove it. */
	metadata?: Readonly<Record<string, string | number | boolean>>;
	/** Whether spend rules believe the caller's `cf-aig-custom-cost`. False: it is ignored. Absent: the larger cost counts. */
	customCost?: boolean;
}

/** What an account knows of a credential that it has verified. */
export interface VerifiedCredential {
	/** The id of the token. Absent for the operator. */
	token?: string;
	/** That of the token, or else that of the account. */
	gateway?: BoundGateway;
}

/** Where a request runs. */
export interface RequestGateway {
	/**
	 * The id of its gateway. `null`: the caller names none, and the surface can run the request in a bound one. Absent: the request has no
	 * gateway, and can have none.
	 */
	gateway?: string | null;
}

export interface GatewayRefusal {
	ok: false;
	failure: "gatewayRequired";
	description: string;
	/** The gateway in which the request may run. */
	gateway: BoundGateway;
}

/** Refuses a request that must run in another gateway. */
export function refuseElsewhere(
	bound: BoundGateway | undefined,
	{ gateway }: RequestGateway,
): GatewayRefusal | undefined {
	if (!bound || gateway === bound.id) return undefined;
	if (bound.mode === "default" && gateway !== null) return undefined;
	const requests = `its requests run in the gateway "${bound.id}"`;
	const reason =
		gateway === undefined
			? `${requests}, and this one has no gateway`
			: gateway === null
				? `${requests}: name it`
				: `${requests}, and this one names another`;
	const description = `Authentication error: the token or the account binds a gateway: ${reason}`;
	return { ok: false, failure: "gatewayRequired", description, gateway: bound };
}

/**
 * Why a token may not change gateways: it must use one of them, and could make its rules weaker. Absent: it may. The operator, who sets
 * what an account binds, always may.
 */
export const changeRefusal = (bound: BoundGateway | undefined): string | undefined =>
	bound?.mode === "required"
		? `Authentication error: the token or the account requires the gateway "${bound.id}", so the token cannot change gateways. Use the operator's token, or a token that requires none`
		: undefined;

/** The refusal of the account, for a surface that can run the request in the bound gateway. */
export class GatewayRequired extends AiError {
	readonly gateway: BoundGateway;

	constructor(gateway: BoundGateway, description?: string) {
		super("gatewayRequired", description);
		this.gateway = gateway;
	}
}

/** Distinguishes leases and other state of an isolate: what one request may use, a request in another gateway may not. */
export const gatewayKey = ({ gateway }: RequestGateway): string =>
	gateway === undefined ? "" : `${gateway ?? "*"}`;
