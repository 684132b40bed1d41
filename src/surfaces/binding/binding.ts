/**
 * The wire protocol of the binding: the requests that the runtime's `Ai` class sends to `https://workers-binding.ai`
 * (workerd, `src/cloudflare/internal/ai-api.ts`). Outputs have no envelope. The content type is exactly
 * `application/json`, because the class returns a stream for any other, also with a charset. `/ai-gateway/run` runs in the gateway of
 * `options.gateway.id`, and so does an `author/model` on `/run`, whose default is the gateway `default`. A websocket has no gateway.
 */
import type { Context, Hono } from "hono";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { loadDialect, loadLiveDialect } from "../../dialects/index.ts";
import { validate } from "../../dialects/validation/validation.ts";
import { sourceOf } from "../../gateways/exchange.ts";
import { optionsOfRun } from "../../gateways/options.ts";
import { refuseLiveInGateway } from "../../gateways/run/bound-caller.ts";
import {
	defaultGateway,
	GATEWAY_ID,
	gatewayOfOptions,
	runModel as runModelInGateway,
} from "../../gateways/run/model-in-gateway.ts";
import { DEFAULT_GATEWAY } from "../../gateways/settings.ts";
import { verifyCaller } from "../../http/authenticate.ts";
import { countBody, isSmallJson, parseText, readBody, readJson } from "../../http/body.ts";
import { boundDepth } from "../../http/bound-depth.ts";
import { emptyApp } from "../../http/empty-app.ts";
import { REQUEST_ID, replyResponse, WRAPS } from "../../http/envelope.ts";
import type { FailureFormat } from "../../http/failure-formats.ts";
import { type Authentication, mountRoutes } from "../../http/mount-routes.ts";
import { checkTags, inferenceRequest, refuseQueue } from "../../http/request-options.ts";
import { BY_MODEL, defineUnknown, type UnknownPaths } from "../../http/route.ts";
import { isUpgrade } from "../../http/socket.ts";
import { requireFrame } from "../../http/socket-caller.ts";
import { search } from "../../models/search.ts";
import type { InferenceRequest, Inputs } from "../../pipeline/request.ts";
import { absentWireRooms } from "../absent-rooms.ts";
import { ragWireRoutes } from "../aisearch/rag-routes.ts";
import { gatewayPlaneFailure } from "../gateway/gateway-failure.ts";
import { gatewayWireRoutes, type WireBindings } from "../gateway/gateway-wire.ts";
import { wireMarkdownRoutes } from "../markdown/markdown.ts";
import { endpointRun, inEndpointFormat, runFormat } from "../openai/run-endpoint.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import type { AppServices } from "../services.ts";
import { wireSearchRoutes } from "../websearch/websearch.ts";
import { MODEL_HEADER, modelOf } from "./model-header.ts";
import { gatewayRunFailure, wireFailure } from "./run-failure.ts";

const RunBody = lazy(() =>
	z.object({
		inputs: z.unknown(),
		options: z.looseObject({ queueRequest: z.unknown().optional() }).nullish(),
	}),
);

/** `options`: the third argument of `run`. */
interface WireInputs extends Inputs {
	options?: unknown;
}

/** Supported versions of the protocol. Older classes send a different request. */
const WIRE_VERSIONS: ReadonlySet<string | undefined> = new Set(["2", "3"]);

const GATEWAY_BASE = "/ai-gateway";

/** Inference failures have the format that the runtime's class reads. Others are in the v4 envelope. */
const runFailure: FailureFormat = (error, requestId, request) =>
	error.failure.plane === "inference"
		? wireFailure(error, requestId)
		: gatewayPlaneFailure(error, requestId, request);

export const wireRoutes: readonly AppRoute[] = [
	...defineRoutes({ bases: [{ path: "" }, { path: GATEWAY_BASE }], tag: "Binding", failure: runFailure }, [
		{
			method: "POST",
			path: "/run",
			summary: "Runs a model",
			input: BY_MODEL,
			output: BY_MODEL,
			permission: "run",
			handler: runModel,
		},
		{
			method: "GET",
			path: "/run",
			summary: "Runs a model over a websocket",
			permission: "run",
			handler: openSocket,
		},
	]),
	...defineRoutes({ bases: [{ path: "" }], tag: "Binding", failure: gatewayPlaneFailure }, [
		{
			method: "GET",
			path: "/ai-api/models/search",
			summary: "Searches the catalogue",
			permission: "read",
			handler: searchModels,
		},
	]),
	...wireMarkdownRoutes,
	...wireSearchRoutes,
	...gatewayWireRoutes,
	...ragWireRoutes,
];

const wireUnknown: readonly UnknownPaths[] = [
	...absentWireRooms,
	...defineUnknown({ bases: [{ path: "" }], tag: "Binding", failure: gatewayPlaneFailure }, [{ path: "*" }]),
];

type Wire = Hono<{ Bindings: WireBindings }>;

/** One app for each configuration. */
const apps = new WeakMap<AppServices, Wire>();

/** The app that answers requests of the protocol: `wireOf(services).fetch(request, {caller})`. */
export function wireOf(services: AppServices): Wire {
	const existing = apps.get(services);
	if (existing) return existing;
	const app: Wire = emptyApp();
	mountRoutes(
		app,
		{ routes: wireRoutes, unknown: wireUnknown },
		{ services, authentication: wireAuthentication(services) },
	);
	apps.set(services, app);
	return app;
}

/** The caller comes from the binding, or from the HTTP request that was forwarded. It is verified first on every path. */
const wireAuthentication = ({ ledgers }: AppServices): Authentication => ({
	async identify(c: Context<{ Bindings: WireBindings }>, { permission }) {
		const { caller } = c.env;
		// A request that was forwarded may have been verified for the permission to run models only.
		const isVerified = permission === "run" || caller.credential.kind === "operator";
		return {
			caller: await verifyCaller(isVerified ? caller : { ...caller, verified: false }, permission, ledgers),
		};
	},
	async verify(request, _route, identity) {
		if (identity.caller && !isSmallJson(request)) countBody(request, identity.caller.account);
		return identity;
	},
});

async function runModel(c: Context, call: AppCall): Promise<Response> {
	const reading = readRun(c, call);
	// A request that cannot be read has a log in its gateway.
	const inputs = await reading.catch(() => undefined);
	const queued = inputs && (await answerQueue(c, call, inputs));
	return queued ?? infer(c, call, loadDialect, () => reading);
}

/** `undefined`: the run does not belong to the queue. */
async function answerQueue(
	c: Context,
	call: AppCall,
	{ fields, options, body }: WireInputs,
): Promise<Response | undefined> {
	const queueRequest = isRecord(options) && options.queueRequest === true;
	if (body || !isRecord(fields) || !("requests" in fields || "request_id" in fields)) return undefined;
	const { answerQueued, hasRequests, NO_FRAME } = await import("../jobs/queued-run.ts");
	const gateway = gatewayOfOptions(options);
	const headers = new Headers(gateway === undefined ? {} : { [GATEWAY_ID]: gateway });
	const model = modelOf(c.req.header(MODEL_HEADER) ?? "");
	const queued = { model, fields, queueRequest, headers, signal: c.req.raw.signal };
	if (!hasRequests(queued)) return undefined;
	return new Response(await answerQueued(queued, call, NO_FRAME), {
		headers: { "content-type": "application/json", [REQUEST_ID]: call.id },
	});
}

function openSocket(c: Context, call: AppCall): Promise<Response> {
	return infer(c, call, loadLiveDialect, () => readUpgrade(c, call));
}

function searchModels(c: Context, { services }: AppCall): Response {
	const { result } = search(services.catalog, c.req.query(), services.now());
	return Response.json({ success: true, result });
}

function infer(
	c: Context,
	{ id, caller, services }: AppCall,
	dialect: InferenceRequest["dialect"],
	read: () => Promise<WireInputs> | WireInputs,
): Promise<Response> {
	const { headers, signal } = c.req.raw;
	const header = headers.get(MODEL_HEADER);
	const model = header ? modelOf(header) : undefined;
	// Of the body, once it is read.
	let options: unknown;
	return runModelInGateway(
		{
			id,
			caller,
			signal,
			model,
			endpoint: () => `run/${model ?? ""}`,
			format: () => runFormat(options),
			async read() {
				if (!WIRE_VERSIONS.has(c.req.query("version"))) throw new AiError("deprecatedSdk");
				if (model === undefined)
					throw new AiError("incompleteRequest", "Request is missing headers or body: cf-consn-model-id");
				const { options: ofBody, ...inputs } = await read();
				options = ofBody;
				if (isRecord(options) && options.queueRequest) refuseQueue();
				checkTags(options);
				const formatted = inEndpointFormat({ model, dialect, inputs }, options);
				return inferenceRequest({ id, caller, ...formatted, signal, headers, options });
			},
			gateway(named) {
				if (dialect === loadLiveDialect) return undefined;
				// `/ai-gateway/run` always has a gateway.
				const isGatewayPath = c.req.path.startsWith(GATEWAY_BASE);
				return {
					named: gatewayOfOptions(options),
					otherwise: defaultGateway(named) ?? (isGatewayPath ? DEFAULT_GATEWAY : undefined),
					options: () => optionsOfRun(isRecord(options) ? options.gateway : undefined, headers),
					source: () => sourceOf("Workers AI Binding", headers),
				};
			},
			run: (request, context) => endpointRun(model ?? "", options)(request, context),
			respond: (reply, requestId) =>
				replyResponse(reply, requestId, WRAPS.bare, {
					session: {
						account: caller.account,
						requireFrame: () => requireFrame(caller, services.ledgers),
						now: services.now,
					},
				}),
			failure: gatewayRunFailure,
		},
		services,
	);
}

/** A websocket handshake has no body: `{inputs, options}` is in the query. */
function readUpgrade(c: Context, { services }: AppCall): Inputs {
	if (!isUpgrade(c.req.raw))
		throw new AiError("incompleteRequest", "Request is missing headers or body: Upgrade: websocket");
	const body = parseText(c.req.query("body") ?? "", "body");
	const { inputs, options } = validate(RunBody(), boundDepth(body, services.limits.jsonDepth));
	refuseLiveInGateway(gatewayOfOptions(options));
	return { fields: inputs };
}

/** The body is `{inputs, options}` as JSON, or one input. In the second case the query has the other inputs and the options. */
async function readRun(c: Context, { services }: AppCall): Promise<WireInputs> {
	const { limits } = services;
	const { raw } = c.req;
	const contentType = raw.headers.get("content-type") ?? "";
	const { userInputs, queueRequest } = c.req.query();
	if (userInputs === undefined && /^application\/json\b/i.test(contentType)) {
		const { inputs, options } = validate(RunBody(), await readJson(raw, services));
		return { fields: inputs, options };
	}
	if (queueRequest === "true") refuseQueue();
	const fields = boundDepth(parseText(userInputs ?? "{}", "userInputs"), limits.jsonDepth);
	return {
		fields,
		body: { bytes: await readBody(raw, limits.uploadBytes, services), contentType },
	};
}
