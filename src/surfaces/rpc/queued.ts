/** A `run` over RPC that belongs to the asynchronous queue. */
import { GATEWAY_ID, gatewayOfOptions } from "../../gateways/run/model-in-gateway.ts";
import { boundDepth } from "../../http/bound-depth.ts";
import { REQUEST_ID } from "../../http/envelope.ts";
import type { AppCall } from "../route.ts";

interface RpcRun {
	model: string;
	/** With `requests` or `request_id`. */
	inputs: Record<string, unknown>;
	options: { queueRequest?: boolean };
}

/** `undefined`: the run does not belong to the queue. */
export async function queuedRun(
	call: Pick<AppCall, "id" | "caller" | "services">,
	{ model, inputs, options }: RpcRun,
): Promise<Response | undefined> {
	const { answerQueued, hasRequests, NO_FRAME } = await import("../jobs/queued-run.ts");
	const gateway = gatewayOfOptions(options);
	const headers = new Headers(gateway === undefined ? {} : { [GATEWAY_ID]: gateway });
	const queued = { model, fields: inputs, queueRequest: options.queueRequest === true, headers };
	if (!hasRequests(queued)) return undefined;
	boundDepth(inputs, call.services.limits.jsonDepth);
	return new Response(await answerQueued(queued, call, NO_FRAME), {
		headers: { "content-type": "application/json", [REQUEST_ID]: call.id },
	});
}
