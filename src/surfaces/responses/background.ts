/** Responses in the background: their creation at the route, and the runs that the durable queue starts. */
import type { Context } from "hono";
import { toAiError } from "../../core/errors.ts";
import { onlyFor } from "../../dialects/route-dialect.ts";
import { inBoundGateway } from "../../gateways/run/bound-caller.ts";
import { gatewayInHeaders, gatewayOfHeaders, runModel } from "../../gateways/run/model-in-gateway.ts";
import { isProviderModel } from "../../gateways/run/provider-names.ts";
import { identifyCaller } from "../../http/authenticate.ts";
import { replyResponse, WRAPS } from "../../http/envelope.ts";
import { responsesFailure } from "../../http/failure-formats.ts";
import { inferenceRequest } from "../../http/request-options.ts";
import { parse } from "../../pipeline/prepare.ts";
import { requireKey, resolveModel } from "../../pipeline/resolve-model.ts";
import { createBackground } from "../../responses/background-request.ts";
import { backgroundHandler, type RunRequest } from "../../responses/background-work.ts";
import { runResponses } from "../../responses/run-model.ts";
import { contextOf, engineFields, readStateful } from "../../responses/run-stored.ts";
import type { WorkHandler } from "../../storage/queue/work.ts";
import type { AppCall } from "../route.ts";
import { RESPONSES_DIALECT } from "./response-dialect.ts";
import { eventsReply, stateReply, storedEvents } from "./stored-routes.ts";

type Fields = Record<string, unknown> & { model: string };

/** Answers with the queued response, or with its events. A request that cannot run is refused. */
export async function answerInBackground(c: Context, call: AppCall, fields: Fields): Promise<Response> {
	const { caller, services } = call;
	const { headers } = c.req.raw;
	const stateful = readStateful(fields);
	// Nothing is stored for a caller without a valid credential, or for a run that its account refuses.
	const identified = await identifyCaller(caller, services.ledgers);
	const named = gatewayOfHeaders(headers);
	if (named !== undefined) inBoundGateway(identified, named);
	const context = await contextOf(fields, stateful, caller, services);
	const { background: _, ...engine } = context ? engineFields(fields, context) : fields;
	// A gateway may have a key for a provider's model.
	if (!isProviderModel(fields.model)) {
		const resolved = await resolveModel(fields.model, caller, services);
		const { model } = resolved;
		await parse({ fields: engine }, await onlyFor(RESPONSES_DIALECT)(model), { model, routed: undefined });
		requireKey(resolved);
	}
	const endpoint = c.req.path.slice(c.req.path.indexOf("v1/"));
	const response = await createBackground({ caller, context, fields, stateful, headers, endpoint }, services);
	if (!stateful.stream) return stateReply(response, call);
	return eventsReply(await storedEvents(String(response.id), { caller, after: -1 }, services), call);
}

const runWith =
	(all: AppCall["services"]): RunRequest =>
	({ id, request, fields, signal }, { ledgers }) => {
		const services = { ...all, ledgers };
		const headers = new Headers(request.headers);
		const { caller, endpoint } = request;
		return runModel(
			{
				...{ id, caller, signal },
				endpoint: () => endpoint,
				format: () => "openai",
				read: async () =>
					inferenceRequest({
						...{ id, caller, signal, headers, fields },
						model: fields.model,
						dialect: onlyFor(RESPONSES_DIALECT),
						inputs: { fields },
					}),
				gateway: (model) => gatewayInHeaders(headers, model),
				run: runResponses,
				respond: (reply, requestId) => replyResponse(reply, requestId, WRAPS.bare),
				failure: (error, requestId) => failureOf(error, requestId),
			},
			services,
		).catch((thrown) => {
			const error = toAiError(thrown);
			services.log(error, id);
			return failureOf(error, id);
		});
	};

/** The format reads nothing of the request. */
const failureOf = (error: Parameters<typeof responsesFailure>[0], requestId: string): Response =>
	responsesFailure(error, requestId);

/** The handler of the queue's items. */
export const backgroundWork = (services: AppCall["services"]): WorkHandler =>
	backgroundHandler(services, runWith(services));
