/** A gateway middleware: refuses requests between 22 and 6 o'clock (UTC), before a model is called. */
import { AiError } from "../../src/core/errors.ts";
import type { GatewayMiddleware } from "../../src/gateways/request.ts";

export const quietHours =
	({ now }: { now(): number }): GatewayMiddleware =>
	async (request, next) => {
		const hour = new Date(now()).getUTCHours();
		if (hour >= 22 || hour < 6) throw new AiError("gatewayLimited", "Try again at 6:00 UTC");
		return next(request);
	};
