import { expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { gatewayFailure } from "../../../src/surfaces/gateway/gateway-failure.ts";

it.each([undefined, "01a21ac3-304f-70d3-903f-d62e7c074786"])(
	"a failure of a gateway names the time of the next attempt, with the id %s of its request",
	async (id) => {
		const response = gatewayFailure(new AiError("outOfCapacity", undefined, { retryAfter: 1.5 }), id);
		expect(response.status).toBe(429);
		expect(response.headers.get("retry-after")).toBe("2");
		expect(response.headers.get("cf-ai-req-id")).toBe(id ?? null);
		expect(await response.json()).toMatchObject({ name: "AiGatewayError", internalCode: 3040 });
	},
);
