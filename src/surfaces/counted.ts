/** Requests that run no model: no admission counts them, so the account counts them when it verifies the credential. */

import type { CountedTitle } from "../models/rates.ts";
import { limitsOf } from "../pipeline/limits.ts";
import type { Caller } from "../pipeline/request.ts";
import type { Services } from "../pipeline/services.ts";

/** Before the body is read. Throws `AiError`: 3021 where `LIMITS.requests_per_minute` has no room. */
export async function countRequest(
	task: CountedTitle,
	caller: Caller,
	{ ledgers, limits }: Pick<Services, "ledgers" | "limits">,
): Promise<void> {
	// The settings have these titles beside those of the models' tasks.
	const { requestsPerMinute }: { requestsPerMinute: Partial<Record<string, number>> } = limitsOf(
		limits,
		caller.account,
	);
	const perMinute = requestsPerMinute[task];
	const rates = perMinute === undefined ? undefined : [{ key: `task:${task}`, perMinute }];
	if (caller.verified && !rates) return;
	await ledgers.of(caller.account).verify(caller.credential, "run", rates && { task, rates });
}
