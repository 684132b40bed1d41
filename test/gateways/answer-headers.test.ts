import { expect, it } from "vitest";
import { answerHeaders } from "../../src/gateways/answer-headers.ts";
import type { GatewayExchange } from "../../src/gateways/exchange.ts";
import type { GatewayStep } from "../../src/gateways/request.ts";

it.each([
	["gpt-5", "gpt-5"],
	["two\nlines", "two%0Alines"],
	["modèle", "mod%C3%A8le"],
	// Half of a surrogate pair.
	["\ud800", "%EF%BF%BD"],
])("names the provider and the model %j of a dynamic route", (model, header) => {
	const exchange = { id: "1", eventId: "2", facts: { route: "support", step: 3 } } as GatewayExchange;
	const step = { provider: model, model, options: {} } as GatewayStep;
	expect(answerHeaders(exchange, step, true)).toEqual({
		"cf-aig-event-id": "2",
		"cf-aig-request-id": "1",
		"cf-aig-step": "3",
		"cf-aig-provider": header,
		"cf-aig-model": header,
		"cf-aig-log-id": "1",
	});
});
