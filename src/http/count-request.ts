/** Rate limits of requests that run no model. Admission does not count them, so the account counts them in `verify`. */
import { GatewayRequired, refuseElsewhere } from "../accounts/bound-gateway.ts";
import type { CountedTitle } from "../models/rates.ts";
import { limitsOf } from "../pipeline/limits.ts";
import type { Caller } from "../pipeline/request.ts";
import type { PipelineServices } from "../pipeline/services.ts";
import { identifyCaller } from "./authenticate.ts";

/**
 * Verifies the credential and counts the request, which has no gateway. Called before the body is read. Throws 3021 beyond
 * `LIMITS.requests_per_minute`.
 */
export async function countRequest(
	task: CountedTitle,
	caller: Caller,
	{ ledgers, limits }: Pick<PipelineServices, "ledgers" | "limits">,
): Promise<void> {
	// The keys of the setting are the tasks of models and these titles.
	const { requestsPerMinute }: { requestsPerMinute: Partial<Record<string, number>> } = limitsOf(
		limits,
		caller.account,
	);
	const perMinute = requestsPerMinute[task];
	const rates = perMinute === undefined ? undefined : [{ key: `task:${task}`, perMinute }];
	const { identity = {} } = rates ? caller : await identifyCaller(caller, ledgers);
	const refused = refuseElsewhere(identity.gateway, caller.credential);
	if (refused) throw new GatewayRequired(refused.gateway, refused.description);
	if (rates) await ledgers.of(caller.account).verify(caller.credential, "run", { task, rates });
}
