/** The handler of batches: each line runs like a request of its route, in the gateway that the batch names. */
import { type AiError, toAiError } from "../../core/errors.ts";
import { loadDialect } from "../../dialects/index.ts";
import { onlyFor, requireModel } from "../../dialects/route-dialect.ts";
import { choosesModel, gatewayInHeaders, runModel } from "../../gateways/run/model-in-gateway.ts";
import { isProviderModel } from "../../gateways/run/provider-names.ts";
import { failureEnvelope, replyResponse, WRAPS } from "../../http/envelope.ts";
import { messagesFailure, openAiFailure } from "../../http/failure-formats.ts";
import { inferenceRequest } from "../../http/request-options.ts";
import { batchHandler } from "../../jobs/batches/run-batch.ts";
import type { LineCall, RunLine } from "../../jobs/batches/run-line.ts";
import { encodeBase64 } from "../../media/base64.ts";
import type { Caller, Reply } from "../../pipeline/request.ts";
import { resolveModel } from "../../pipeline/resolve-model.ts";
import type { WorkHandler } from "../../storage/queue/work.ts";
import { OPENAI_ROUTES } from "../openai/openai.ts";
import type { OpenaiRoute } from "../openai/openai-route.ts";
import type { AppServices } from "../services.ts";
import { NATIVE_ENDPOINT } from "./queued-run.ts";

/** Lines wait for the capacity of pools after all live requests. */
const PRIORITY: readonly [string, string] = ["x-ganglion-priority", "batch"];

const routeOf = (endpoint: string): OpenaiRoute => {
	const route = OPENAI_ROUTES[endpoint];
	if (!route) throw new TypeError(`${endpoint} has no batches`);
	return route;
};

const lineRunner =
	(all: AppServices): RunLine =>
	async (call, own) => {
		const services = { ...all, ...own };
		const { id, caller, headers: sent, endpoint, fields, signal } = call;
		if (endpoint === NATIVE_ENDPOINT) return runNative(call, services);
		const route = routeOf(endpoint);
		const headers = new Headers(sent);
		headers.set(...PRIORITY);
		let failure: AiError | undefined;
		const failed = (error: AiError, requestId: string): Response => {
			failure = error;
			// Both formats read nothing of the request.
			return route.failure === messagesFailure
				? messagesFailure(error, requestId)
				: openAiFailure(error, requestId);
		};
		const response = await runModel(
			{
				...{ id, caller, signal },
				endpoint: () => `v1${endpoint}`,
				format: () => "openai",
				read: async () =>
					inferenceRequest({
						...{ id, caller, signal, headers, fields },
						model: route.modelOf?.(requireModel(fields).model) ?? requireModel(fields).model,
						dialect: onlyFor(route),
						inputs: { fields: route.withHeaders?.(fields, headers) ?? fields },
					}),
				gateway: (model) => gatewayInHeaders(headers, model),
				run: route.run,
				respond: (reply, requestId) => replyResponse(reply, requestId, WRAPS.bare),
				failure: failed,
			},
			services,
		).catch((thrown: unknown) => {
			const error = toAiError(thrown);
			services.log(error, id);
			return failed(error, id);
		});
		return { response, failure };
	};

/** Runs the model with its own inputs and outputs. Bytes become base64. */
async function runNative(
	{ id, caller, headers: sent, fields, signal }: LineCall,
	services: AppServices,
): ReturnType<RunLine> {
	const { model } = requireModel(fields);
	const headers = new Headers(sent);
	headers.set(...PRIORITY);
	let failure: AiError | undefined;
	const failed = (error: AiError, requestId: string): Response => {
		failure = error;
		return failureEnvelope(error, requestId);
	};
	const respond = ({ body, ...reply }: Reply, requestId: string): Response =>
		replyResponse(
			{
				...reply,
				body: body.kind === "bytes" ? { kind: "json", value: encodeBase64(body.media.bytes) } : body,
			},
			requestId,
			WRAPS.bare,
		);
	const response = await runModel(
		{
			...{ id, caller, signal, model, respond, failure: failed },
			endpoint: () => `run/${model}`,
			format: () => "binding",
			read: async () =>
				inferenceRequest({
					...{ id, caller, signal, headers, model },
					dialect: loadDialect,
					inputs: { fields: fields.input },
				}),
			gateway: (named) => gatewayInHeaders(headers, named),
		},
		services,
	).catch((thrown: unknown) => {
		const error = toAiError(thrown);
		services.log(error, id);
		return failed(error, id);
	});
	return { response, failure };
}

/** Before the lines run. A gateway may have a key for a provider's model, or choose the model itself. */
async function modelMistake(
	named: string,
	endpoint: string,
	{ caller, services }: { caller: Caller; services: AppServices },
): Promise<string | undefined> {
	const route = routeOf(endpoint);
	const model = route.modelOf?.(named) ?? named;
	if (isProviderModel(model) || choosesModel(model)) return undefined;
	try {
		await onlyFor(route)((await resolveModel(model, caller, services)).model);
		return undefined;
	} catch (thrown) {
		const error = toAiError(thrown);
		// The account's aliases cannot be read: the lines tell.
		return error.status < 500 && error.failure.plane === "inference" ? error.description : undefined;
	}
}

export const batchWork = (services: AppServices): WorkHandler =>
	batchHandler(services, {
		line: lineRunner(services),
		modelMistake: (model, endpoint, caller) => modelMistake(model, endpoint, { caller, services }),
	});
