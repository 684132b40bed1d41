/** The headers of every answer of a gateway. */
import { DLP_HEADER } from "./dlp/findings.ts";
import type { GatewayExchange } from "./exchange.ts";
import type { GatewayStep } from "./request.ts";

/** Names the models of a dynamic route or an alias that cannot be called here. */
const SKIPPED = "x-ganglion-skipped";

/** `step`: absent if the request failed before its first one. `isLogged`: the request has a log. */
export function answerHeaders(
	{ id, eventId, facts }: GatewayExchange,
	step: GatewayStep | undefined,
	isLogged: boolean,
): Record<string, string> {
	return {
		"cf-aig-event-id": step?.options.eventId ?? eventId,
		"cf-aig-request-id": id,
		"cf-aig-step": String(facts.step ?? 0),
		...(facts.route !== undefined &&
			step?.model !== undefined && {
				"cf-aig-provider": encodeURI(step.provider.toWellFormed()),
				"cf-aig-model": encodeURI(step.model.toWellFormed()),
			}),
		...(facts.routing && {
			"cf-aig-routed-model": encodeURI(facts.routing.model),
			"cf-aig-routing-decision-id": facts.routing.decisionId,
			...(facts.routing.reason !== undefined && { "cf-aig-routing-reason": facts.routing.reason }),
		}),
		...(facts.skipped && {
			[SKIPPED]: facts.skipped.map((name) => encodeURI(name.toWellFormed())).join(", "),
		}),
		...(facts.dlp && { [DLP_HEADER]: JSON.stringify(facts.dlp) }),
		...(isLogged && { "cf-aig-log-id": id }),
	};
}
