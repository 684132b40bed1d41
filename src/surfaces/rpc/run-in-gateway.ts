/** `run` with a gateway over RPC: converts the response to the value or to the error that the runtime's class would make of it. */
import * as z from "zod";
import { parseJson } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
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

/** The fields of {@link gatewayRunFailure}. A guardrail may answer with others. */
const FailureBody = lazy(() =>
	z.object({ name: z.string(), internalCode: z.number(), description: z.string() }),
);

/** An object for JSON, a stream for everything else. Throws the error of a failure. */
export async function unwrappedResponse(response: Response): Promise<unknown> {
	if (response.ok)
		return response.headers.get("content-type") === "application/json" ? response.json() : response.body;
	const text = await response.text();
	const { status: httpCode } = response;
	const failure = FailureBody().safeParse(parseJson(text)).data;
	if (!failure) throw Object.assign(new Error(text), { name: "AiError", httpCode });
	const message = `${failure.internalCode}: ${failure.description}`;
	throw Object.assign(new Error(message), { ...failure, httpCode });
}
