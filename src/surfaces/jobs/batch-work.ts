/** The handler of batches: each line runs like a request of its route, in the gateway that the batch names. */
import { type AiError, toAiError } from "../../core/errors.ts";
import { own } from "../../core/own.ts";
import { loadDialect } from "../../dialects/index.ts";
import { onlyFor, requireModel } from "../../dialects/route-dialect.ts";
import {
	choosesModel,
	gatewayInHeaders,
	type ModelCall,
	runModel,
} from "../../gateways/run/model-in-gateway.ts";
import { isProviderModel } from "../../gateways/run/provider-names.ts";
import { ShadowRoutes } from "../../gateways/shadows/shadow-routes.ts";
import { failureEnvelope, replyResponse, WRAPS } from "../../http/envelope.ts";
import { geminiFailure, messagesFailure, openAiFailure } from "../../http/failure-formats.ts";
import { inferenceRequest } from "../../http/request-options.ts";
import { batchHandler } from "../../jobs/batches/run-batch.ts";
import type { LineCall, RunLine } from "../../jobs/batches/run-line.ts";
import { encodeBase64 } from "../../media/base64.ts";
import type { Caller, InferenceRequest } from "../../pipeline/request.ts";
import { resolveModel } from "../../pipeline/resolve-model.ts";
import type { WorkHandler } from "../../storage/queue/work.ts";
import { geminiRun, runGemini } from "../gemini/gemini-call.ts";
import { OPENAI_ROUTES } from "../openai/openai.ts";
import type { OpenaiRoute } from "../openai/openai-route.ts";
import type { AppServices } from "../services.ts";
import { geminiMethodOf, isGeminiEndpoint } from "./gemini-batch-format.ts";
import { NATIVE_ENDPOINT } from "./native-endpoint.ts";
import { REPLAY_ENDPOINT, runReplayLine } from "./replay-line.ts";
import { storeReplay } from "./replay-results.ts";

/** Lines wait for the capacity of pools after all live requests. */
const PRIORITY: readonly [string, string] = ["x-ganglion-priority", "batch"];

const NO_SHADOWS = new ShadowRoutes();

const routeOf = (endpoint: string): OpenaiRoute => {
	const route = own(OPENAI_ROUTES, endpoint);
	if (!route) throw new TypeError(`${endpoint} has no batches`);
	return route;
};

type LineRequest = Pick<ModelCall, "model" | "endpoint" | "format" | "gateway" | "run" | "respond"> & {
	/** Throws if the request is invalid. */
	read(): InferenceRequest;
	failure(error: AiError, requestId: string): Response;
};

/** Services that differ from those of a live request. */
type OwnServices = Parameters<RunLine>[1] & Partial<Pick<AppServices, "gatewayLogs">>;

/** Runs a line like a request of its route. */
export const lineRunner =
	(all: AppServices) =>
	async (call: LineCall, own: OwnServices): ReturnType<RunLine> => {
		// A line is no live request.
		const services = { ...all, ...own, shadowRoutes: NO_SHADOWS };
		const { id, caller, signal } = call;
		const headers = new Headers(call.headers);
		headers.set(...PRIORITY);
		const line = requestOf({ ...call, headers });
		let failure: AiError | undefined;
		const failed = (error: AiError, requestId: string): Response => {
			failure = error;
			return line.failure(error, requestId);
		};
		const response = await runModel(
			{ ...line, id, caller, signal, read: async () => line.read(), failure: failed },
			services,
		).catch((thrown: unknown) => {
			const error = toAiError(thrown);
			services.log(error, id);
			return failed(error, id);
		});
		return { response, failure };
	};

function requestOf(call: LineCall): LineRequest {
	if (call.endpoint === NATIVE_ENDPOINT) return nativeRequest(call);
	return isGeminiEndpoint(call.endpoint) ? geminiRequest(call) : openAiRequest(call);
}

/** A request for one of OpenAI's or Anthropic's routes. */
function openAiRequest({ id, caller, headers, endpoint, fields, signal }: LineCall): LineRequest {
	const route = routeOf(endpoint);
	return {
		endpoint: () => `v1${endpoint}`,
		format: () => "openai",
		read() {
			const { model } = requireModel(fields);
			return inferenceRequest({
				...{ id, caller, signal, headers, fields },
				model: route.modelOf?.(model) ?? model,
				dialect: onlyFor(route),
				inputs: { fields: route.withHeaders?.(fields, headers) ?? fields },
			});
		},
		gateway: (model) => gatewayInHeaders(headers, model),
		run: route.run,
		respond: (reply, requestId) => replyResponse(reply, requestId, WRAPS.bare),
		// Both formats read nothing of the request.
		failure: route.failure === messagesFailure ? messagesFailure : openAiFailure,
	};
}

/** A method of Gemini's API. */
function geminiRequest({ id, caller, headers, endpoint, fields, signal }: LineCall): LineRequest {
	const { model } = requireModel(fields);
	const method = geminiMethodOf(endpoint);
	const prepared = geminiRun({
		id,
		caller,
		model,
		method,
		fields: fields.request,
		headers,
		sse: false,
		signal,
	});
	if (!prepared) throw new TypeError(`${method} runs no model`);
	return {
		model,
		endpoint: () => `v1beta/models/${model}:${method}`,
		format: () => `gemini ${method}`,
		read: () => prepared.request,
		gateway: (named) => ({ ...gatewayInHeaders(headers, named), otherwise: undefined }),
		run: runGemini,
		respond: prepared.respond,
		failure: geminiFailure,
	};
}

/** A request with the model's own inputs and outputs. Bytes become base64. */
function nativeRequest({ id, caller, headers, fields, signal }: LineCall): LineRequest {
	const { model } = requireModel(fields);
	return {
		model,
		endpoint: () => `run/${model}`,
		format: () => "binding",
		read: () =>
			inferenceRequest({
				...{ id, caller, signal, headers, model },
				dialect: loadDialect,
				inputs: { fields: fields.input },
			}),
		gateway: (named) => gatewayInHeaders(headers, named),
		respond: ({ body, ...reply }, requestId) =>
			replyResponse(
				{
					...reply,
					body: body.kind === "bytes" ? { kind: "json", value: encodeBase64(body.media.bytes) } : body,
				},
				requestId,
				WRAPS.bare,
			),
		failure: failureEnvelope,
	};
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

export function batchWork(services: AppServices): WorkHandler {
	const run = lineRunner(services);
	return batchHandler(services, {
		line: (call, own) =>
			call.endpoint === REPLAY_ENDPOINT
				? runReplayLine(call, { services, run: (line, logs) => run(line, { ...own, ...logs }) })
				: run(call, own),
		storeReplay: storeReplay(services),
		modelMistake: (model, endpoint, caller) => modelMistake(model, endpoint, { caller, services }),
	});
}
