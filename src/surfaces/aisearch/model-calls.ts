/**
 * Calls of models for AI Search: requests of the caller, in the gateway of the instance. The product names some models by the slug of their
 * provider (`google-ai-studio/gemini-embedding-001`).
 */
import { type AiError, toAiError } from "../../core/errors.ts";
import { own } from "../../core/own.ts";
import { loadDialect } from "../../dialects/index.ts";
import { onlyFor } from "../../dialects/route-dialect.ts";
import {
	defaultGateway,
	type ModelCall,
	type ModelGateway,
	runModel,
} from "../../gateways/run/model-in-gateway.ts";
import { idOfNamed } from "../../gateways/run/provider-names.ts";
import { replyResponse, WRAPS } from "../../http/envelope.ts";
import { inferenceRequest } from "../../http/request-options.ts";
import type { Caller } from "../../pipeline/request.ts";
import type { SearchModels } from "../../retrieval/search/models.ts";
import { gatewayRunFailure } from "../binding/run-failure.ts";
import { OPENAI_ROUTES } from "../openai/openai.ts";
import { unwrappedResponse } from "../rpc/unwrapped-response.ts";
import type { AppServices } from "../services.ts";

interface ModelCaller {
	caller: Caller;
	/** The id of the instance's gateway. */
	gateway: string | undefined;
	signal: AbortSignal;
}

/** The name of the backend. */
const SIMULATOR = "simulator";
/** The options of requests are in their headers, which a search does not pass on. */
const NO_HEADERS = new Headers();

export function searchModels({ caller, gateway, signal }: ModelCaller, services: AppServices): SearchModels {
	const gatewayOf = (model: string): ModelGateway => ({
		...{ named: gateway, otherwise: defaultGateway(model) },
		options: () => ({}),
		source: () => ({ type: "Workers AI Binding" }),
	});
	let isLexical = false;
	const markLexical = ({ headers }: Response): void => {
		isLexical ||= headers.get("x-ganglion-backend") === SIMULATOR;
	};
	async function answered(
		model: string,
		call: Pick<ModelCall, "endpoint" | "format" | "read" | "run"> & { id: string },
	): Promise<Response> {
		let failure: AiError | undefined;
		const response = await runModel(
			{
				...{ ...call, caller, signal, model },
				gateway: gatewayOf,
				respond: (reply, requestId) => replyResponse(reply, requestId, WRAPS.bare),
				failure(error, requestId) {
					failure = error;
					return gatewayRunFailure(error, requestId);
				},
			},
			services,
		);
		if (response.ok) return response;
		if (failure) throw failure;
		// A guardrail answers by itself.
		await unwrappedResponse(response).catch((thrown: unknown) => {
			throw toAiError(thrown);
		});
		return response;
	}
	return {
		get isLexical() {
			return isLexical;
		},
		async openAi(endpoint, sent) {
			const id = services.uuid();
			const route = own(OPENAI_ROUTES, endpoint);
			if (!route) throw new TypeError(`${endpoint} is no route`);
			const model = await idOfNamed(sent.model, caller, services);
			const fields = { ...sent, model };
			const response = await answered(model, {
				id,
				endpoint: () => `v1${endpoint}`,
				format: () => "openai",
				read: async () =>
					inferenceRequest({
						...{ id, caller, signal, model, headers: NO_HEADERS },
						dialect: onlyFor(route),
						inputs: { fields },
					}),
				run: route.run,
			});
			if (endpoint === "/embeddings") markLexical(response);
			return response;
		},
		async native(named, fields, body) {
			const id = services.uuid();
			const model = await idOfNamed(named, caller, services);
			const response = await answered(model, {
				id,
				endpoint: () => `run/${model}`,
				format: () => "binding",
				read: async () =>
					inferenceRequest({
						...{ id, caller, signal, model, headers: NO_HEADERS },
						dialect: loadDialect,
						inputs: { fields, ...(body && { body }) },
					}),
			});
			markLexical(response);
			return unwrappedResponse(response);
		},
	};
}
