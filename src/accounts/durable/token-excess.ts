/** Whether a token may make or change another one: not one with more rights, higher limits, a later end or another gateway than its own. */
import type { FailureKey } from "../../core/errors.ts";
import type { Permission } from "../admission.ts";
import type { BoundGateway } from "../bound-gateway.ts";
import { grantablePermissions, type Token } from "../token-command.ts";
import { permissionsOf } from "../token-policy.ts";

export type Refusal = { ok: false; failure: FailureKey; description?: string };

/** A token that makes or changes another one. `bound`: the gateway that its account binds. */
export interface Maker {
	token: Token;
	permissions: ReadonlySet<Permission>;
	bound: BoundGateway | undefined;
}

/** Refuses a token that exceeds its maker. No token exceeds the operator. */
export function excessOver(maker: Maker | undefined, token: Token): Refusal | undefined {
	if (!maker) return undefined;
	const granted = [...permissionsOf(token.policies)];
	const beyond = granted.filter((permission) => !maker.permissions.has(permission));
	if (beyond.length > 0)
		return refuse("forbidden", `a token cannot give permissions that it does not have: ${beyond.join(", ")}`);
	const grantable = grantablePermissions(maker.token);
	if (token.id !== maker.token.id && granted.some((permission) => !grantable.has(permission)))
		return refuse("forbidden", "a token with limits of its own cannot let another one run models");
	const { expiresOn, limits } = maker.token;
	if (isLooser(token.limits.dailyMicroNeurons, limits.dailyMicroNeurons))
		return refuse("forbidden", "a token cannot give a higher limits.daily_neurons than its own");
	if (isLooser(token.limits.monthlyMicroNeurons, limits.monthlyMicroNeurons))
		return refuse("forbidden", "a token cannot give a higher limits.monthly_neurons than its own");
	if (isLooser(token.limits.requestsPerMinute, limits.requestsPerMinute))
		return refuse("forbidden", "a token cannot give a higher limits.requests_per_minute than its own");
	// A gateway of the token has precedence over that of the account.
	const gateway = token.gateway ?? maker.bound;
	const ownGateway = maker.token.gateway ?? maker.bound;
	if (ownGateway && JSON.stringify(gateway) !== JSON.stringify(ownGateway))
		return refuse("forbidden", "a token whose requests have a bound gateway can only give the same gateway");
	if (isLooser(token.expiresOn, expiresOn))
		return refuse("forbidden", "a token cannot make one that expires later than itself");
	return undefined;
}

/** An absent value is unlimited. */
const isLooser = (value = Number.POSITIVE_INFINITY, bound = Number.POSITIVE_INFINITY): boolean =>
	value > bound;

export const refuse = (failure: FailureKey, reason: string): Refusal => ({
	ok: false,
	failure,
	description: failure === "forbidden" ? `Authentication error: ${reason}` : reason,
});
