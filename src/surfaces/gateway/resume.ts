import type { Context } from "hono";
import { AiError } from "../../core/errors.ts";
import { requireGateway } from "../../gateways/run/bound-caller.ts";
import { type Payload, pathParameter } from "../../http/route.ts";
import { SSE_CONTENT_TYPE } from "../../streams/sse.ts";
import type { AppCall } from "../route.ts";

export const EVENTS: Payload = { type: SSE_CONTENT_TYPE };

/** The events of a stream from the index `from` on. A stream of another account is not found. */
export async function resumeStream(c: Context, { caller, services }: AppCall): Promise<Response> {
	const from = c.req.query("from") ?? "0";
	if (!/^\d{1,9}$/.test(from))
		throw new AiError("invalidGatewayRequest", "from: expected the number of received events");
	const gateway = pathParameter(c, "gateway");
	await requireGateway(caller, gateway, services);
	const owner = { account: caller.account, gateway };
	const resumed = await services.streamRuns.resume(pathParameter(c, "run"), Number(from), owner);
	if (resumed === "malformed") throw new AiError("malformedRun");
	return resumed ?? Response.json({ error: "Request not found" }, { status: 404 });
}
