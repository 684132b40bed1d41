/** Requests of public endpoints. */
import { AiError } from "../../../core/errors.ts";
import type { PublicRequest } from "../durable/search-registry.ts";
import { searchFailure } from "../failures.ts";
import type { PublicEndpoint } from "../public-endpoint.ts";
import type { Publisher } from "../records.ts";

/** A request of a public endpoint that may run. */
export interface Published<Endpoint, Target> {
	endpoint: Endpoint;
	target: Target;
	publisher: Publisher;
}

/** Throws 60003, 60004, 60005. */
export function admitted<Endpoint extends PublicEndpoint, Target extends { publisher?: Publisher }>(
	request: PublicRequest<Target> | undefined,
	endpoint: Endpoint | undefined,
): Published<Endpoint, Target> {
	if (!request) throw searchFailure("searchEndpointUnknown");
	const { isAllowed, retryAfterMs, target } = request;
	const { publisher } = target;
	if (!endpoint?.enabled || !publisher) throw searchFailure("searchEndpointOff");
	if (!isAllowed)
		throw new AiError("searchEndpointLimited", undefined, { retryAfter: Math.ceil(retryAfterMs / 1_000) });
	return { endpoint, target, publisher };
}
