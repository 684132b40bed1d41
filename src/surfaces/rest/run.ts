/**
 * REST: `/client/v4/accounts/{account}/ai/run/…`, for curl, the official `cloudflare` SDK and the REST modes of the AI SDK
 * and TanStack providers. JSON results and failures are in the v4 envelope. Bytes and event streams are not.
 *
 * Difference from the product: the universal `POST /ai/run` takes `@cf/` models without a gateway header.
 */
import type { Context } from "hono";
import * as z from "zod";
import { AiError, toAiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { loadDialect, loadLiveDialect } from "../../dialects/index.ts";
import { validate } from "../../dialects/validation/validation.ts";
import { customSlug } from "../../gateways/providers/custom-providers.ts";
import { refuseLiveInGateway } from "../../gateways/run/bound-caller.ts";
import {
	choosesModel,
	gatewayInHeaders,
	gatewayOfHeaders,
	runModel as runModelInGateway,
} from "../../gateways/run/model-in-gateway.ts";
import type { GatewayServices } from "../../gateways/services.ts";
import { readInputs, readJson } from "../../http/body.ts";
import { AUTHORIZATION, selectedProtocol, WEBSOCKET_PROTOCOL } from "../../http/credentials.ts";
import { REQUEST_ID, replyResponse, WRAPS } from "../../http/envelope.ts";
import { v4Failure } from "../../http/failure-formats.ts";
import { checkTags, inferenceRequest, refuseBackground, refuseQueue } from "../../http/request-options.ts";
import { BY_MODEL, methodNotAllowed, pathParameter } from "../../http/route.ts";
import { isUpgrade } from "../../http/socket.ts";
import { requireFrame } from "../../http/socket-caller.ts";
import { authorOf, isThirdPartyId } from "../../models/third-party.ts";
import type { InferenceRequest, Inputs, Reply } from "../../pipeline/request.ts";
import { modelOf } from "../../pipeline/resolve-model.ts";
import { run } from "../../pipeline/run.ts";
import { textFlag } from "../../schemas/text-flag.ts";
import { AI, below } from "../bases.ts";
import { wireOf } from "../binding/binding.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import { unknownName } from "./unknown-name.ts";

/** The product answers "no route" for an unknown model id, except in these namespaces. */
const INFERENCE_NAMESPACE = /^@(?:cf|hf)\//;

/** The host of the runtime's `Ai` class. */
const WIRE_HOST = "workers-binding.ai";

/** Stands for the result in an envelope. */
const SPLIT = "\0";

const EXAMPLE_MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

const UniversalBody = lazy(() =>
	z.object({
		model: z.string().min(1),
		input: z.record(z.string(), z.unknown()),
		options: z.unknown().optional(),
	}),
);

export const runRoutes: readonly AppRoute[] = defineRoutes({ bases: [below(AI, "/run")], tag: "Run" }, [
	{
		method: "POST",
		path: "",
		summary: "Runs the model of the field `model`",
		input: {
			type: "application/json",
			schema: UniversalBody,
			example: { model: EXAMPLE_MODEL, input: { prompt: "Hello, who are you?" } },
		},
		output: BY_MODEL,
		permission: "run",
		lazy: true,
		handler: runUniversal,
	},
	{
		method: ["GET", "POST", "PUT", "PATCH", "DELETE"],
		path: "/proxy",
		summary: "Forwards a request of the runtime's Ai class. Its operation may need another permission",
		hidden: true,
		permission: "run",
		// The route of the operation verifies the credential.
		lazy: true,
		handler: forwardToWire,
	},
	{
		method: "POST",
		path: "/:model{.+}",
		summary: "Runs a model",
		input: { ...BY_MODEL, example: { prompt: "Hello, who are you?" } },
		output: BY_MODEL,
		permission: "run",
		lazy: true,
		handler: runModel,
	},
	{
		method: "GET",
		path: "/:model{.+}",
		summary: "Runs a model over a websocket; the inputs are parameters of the address",
		upgrades: true,
		permission: "run",
		credentials: [AUTHORIZATION, WEBSOCKET_PROTOCOL],
		lazy: true,
		handler: openSocket,
	},
]);

async function openSocket(c: Context, call: AppCall): Promise<Response> {
	if (!isUpgrade(c.req.raw)) throw methodNotAllowed(c);
	const model = pathParameter(c, "model");
	const read = async (): Promise<RunInputs> => {
		refuseLiveInGateway(gatewayOfHeaders(c.req.raw.headers));
		return { model, inputs: { fields: queryOf(c) }, dialect: loadLiveDialect };
	};
	const response = await infer(c, call, { model, read });
	const protocol = selectedProtocol(c.req.raw);
	if (protocol !== undefined) response.headers.set("sec-websocket-protocol", protocol);
	return response;
}

async function runUniversal(c: Context, call: AppCall): Promise<Response> {
	const isQueue = isQueueRequest(c);
	const reading = readJson(c.req.raw, call.services).then((sent) => {
		const body = validate(UniversalBody(), sent);
		refuseBackground(body.options);
		return body;
	});
	// A request that cannot be read has a log in its gateway.
	const body = await reading.catch(() => undefined);
	const answer = body && (await answerRequests(c, call, { model: body.model, fields: body.input, isQueue }));
	if (answer) return answer;
	return infer(c, call, {
		read: async () => {
			const { model, input, options } = await reading;
			if (isQueue) refuseQueue();
			return { model, inputs: { fields: options === undefined ? input : { ...input, options } } };
		},
	});
}

/** The queue's requests need no content type. */
async function runModel(c: Context, call: AppCall): Promise<Response> {
	const model = pathParameter(c, "model");
	const { services } = call;
	const isQueue = isQueueRequest(c);
	const { raw } = c.req;
	const reading = isQueue
		? readJson(raw, services).then((fields): Inputs => ({ fields }))
		: readInputs(raw, services);
	// A request that cannot be read has a log in its gateway.
	const { fields } = (await reading.catch(() => undefined)) ?? {};
	const answer = await answerRequests(c, call, { model, fields, isQueue });
	if (answer) return answer;
	return infer(c, call, {
		model,
		read: async () => {
			const isKnown =
				INFERENCE_NAMESPACE.test(model) ||
				choosesModel(model) ||
				customSlug(authorOf(model)) !== undefined ||
				(await isNamed(model, call));
			if (!isKnown) throw unknownName(model, c.req.path, services);
			if (isQueue) refuseQueue();
			return { model, inputs: { ...(await reading), query: queryOf(c) } };
		},
	});
}

const QueueQuery = lazy(() => z.object({ queueRequest: textFlag() }));

/** Read without a schema if it is absent, as in most requests. */
function isQueueRequest(c: Context): boolean {
	const queueRequest = c.req.query("queueRequest");
	return queueRequest !== undefined && validate(QueueQuery(), { queueRequest }).queueRequest;
}

/** The answer of the asynchronous queue, or of many requests at once. `undefined`: the inputs are those of one request. */
async function answerRequests(
	c: Context,
	call: AppCall,
	{ model, fields, isQueue }: { model: string; fields: unknown; isQueue: boolean },
): Promise<Response | undefined> {
	if (!isRecord(fields) || !("requests" in fields || "request_id" in fields)) return undefined;
	const { answerQueued, hasRequests } = await import("../jobs/queued-run.ts");
	const { headers, signal } = c.req.raw;
	const queued = { model, fields, queueRequest: isQueue, headers, signal };
	if (!hasRequests(queued)) return undefined;
	const [start = "", end = ""] = WRAPS.envelope(SPLIT).split(SPLIT);
	const answer = await answerQueued(queued, call, { start, end });
	return new Response(answer, { headers: { "content-type": "application/json", [REQUEST_ID]: call.id } });
}

function infer(
	c: Context,
	call: AppCall,
	{ model, read }: { model?: string; read(): Promise<RunInputs> },
): Promise<Response> {
	const { id, caller, services } = call;
	const { raw } = c.req;
	return runModelInGateway(
		{
			id,
			caller,
			signal: raw.signal,
			model,
			endpoint: (named) => (named === undefined ? "run" : `run/${named}`),
			format: () => "rest",
			read: async () => requestOf(c, call, await read()),
			// A socket has no gateway.
			gateway: (named) => (isUpgrade(raw) ? undefined : gatewayInHeaders(raw.headers, named)),
			run: runWithProviderFailure,
			respond: (reply, requestId) =>
				replyResponse(reply, requestId, WRAPS.envelope, {
					session: {
						account: caller.account,
						requireFrame: () => requireFrame(caller, services.ledgers),
						now: services.now,
					},
				}),
			failure: (error, requestId) => v4Failure(error, requestId, c.req),
		},
		services,
	);
}

/** Whether a model of the catalogue, a route of the configuration or an alias has this name. */
export async function isNamed(name: string, { caller, services }: AppCall): Promise<boolean> {
	const model = await modelOf(name, caller, services);
	return services.catalog.find(model) !== undefined || services.routing.find(model)?.named === true;
}

/** A request of the binding over HTTP, with any method, headers and body. `X-Forwarded` is its original address. */
async function forwardToWire(c: Context, { caller, services }: AppCall): Promise<Response> {
	const origin = services.publicUrl ?? new URL(c.req.url).origin;
	const request = new Request(forwardedFrom(c.req.header("x-forwarded"), origin), c.req.raw);
	// The credential of this route. A provider's address would take it for the provider's key.
	request.headers.delete("authorization");
	return wireOf(services).fetch(request, { caller, origin });
}

/** Runs a request. If a provider refuses the operator's key, the error is AI Gateway's 2009 (changelog, 2026-10-06). */
async function runWithProviderFailure(request: InferenceRequest, services: GatewayServices): Promise<Reply> {
	try {
		return await run(request, services);
	} catch (thrown) {
		throw isThirdPartyId(request.model) ? asProviderFailure(toAiError(thrown)) : thrown;
	}
}

function asProviderFailure(error: AiError): AiError {
	const { status } = error.upstream ?? {};
	const isRefusedKey = error.key === "upstreamUnavailable" && (status === 401 || status === 403);
	if (!isRefusedKey || !error.upstream) return error;
	const { cause, exchange, upstream } = error;
	const refused = new AiError("providerKeyRefused", undefined, { cause, upstream });
	// The observers have logged the failure. An error with its exchange is not logged again.
	refused.exchange = exchange;
	return refused;
}

/** `dialect`: by default the native dialect of the model. */
export interface RunInputs {
	model: string;
	inputs: Inputs;
	dialect?: InferenceRequest["dialect"];
}

/** A field `options` of the inputs is for the gateway (`rejectIfBusy`). The model does not get it. */
export function requestOf(
	c: Context,
	{ id, caller }: AppCall,
	{ model, inputs, dialect = loadDialect }: RunInputs,
): InferenceRequest {
	const { signal, headers } = c.req.raw;
	const { options, ...fields } = isRecord(inputs.fields) ? inputs.fields : {};
	checkTags(options);
	const ownInputs = options === undefined ? inputs : { ...inputs, fields };
	return inferenceRequest({ id, caller, model, inputs: ownInputs, dialect, signal, headers, options });
}

/** Query parameters. A repeated one becomes a list. */
const queryOf = (c: Context): Record<string, string | string[]> =>
	Object.fromEntries(
		Object.entries(c.req.queries()).map(([name, values]) => [
			name,
			values.length > 1 ? values : (values[0] ?? ""),
		]),
	);

/** The address that the runtime's class requested, or one that `getUrl` returned. Only its path and query are used. */
function forwardedFrom(header: string | undefined, origin: string): string {
	if (!header) throw new AiError("incompleteRequest", "Request is missing headers or body: x-forwarded");
	const url = URL.parse(header);
	if (url?.hostname !== WIRE_HOST && url?.origin !== origin) throw new AiError("noRoute");
	return url.href;
}
