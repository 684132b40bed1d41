/** `run` with a gateway over RPC: converts the response to the value or to the error that the runtime's class would make of it. */
import { type ModelCall, type ModelGateway, runModel } from "../../gateways/run/model-in-gateway.ts";
import { replyResponse, WRAPS } from "../../http/envelope.ts";
import { gatewayRunFailure } from "../binding/run-failure.ts";
import { endpointRun, runFormat } from "../openai/run-endpoint.ts";
import type { AppServices } from "../services.ts";

type RpcCall = Pick<ModelCall, "id" | "caller" | "signal" | "read"> & { model: string; options: unknown };

export function runInGatewayOf(
	call: RpcCall,
	names: Pick<ModelGateway, "named" | "otherwise" | "options">,
	services: AppServices,
): Promise<Response> {
	const gateway: ModelGateway = {
		...names,
		source: () => ({ type: "Workers AI Binding" }),
	};
	return runModel(
		{
			...call,
			endpoint: () => `run/${call.model}`,
			format: () => runFormat(call.options),
			gateway: () => gateway,
			run: endpointRun(call.model, call.options),
			respond: (reply, requestId) => replyResponse(reply, requestId, WRAPS.bare),
			failure: gatewayRunFailure,
		},
		services,
	);
}
