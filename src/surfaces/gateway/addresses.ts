import type { Context } from "hono";
import { AiError } from "../../core/errors.ts";
import { sourceOf } from "../../gateways/exchange.ts";
import { optionsInHeaders } from "../../gateways/options.ts";
import { endpointOf, isProvider } from "../../gateways/providers/addresses.ts";
import { customSlug } from "../../gateways/providers/custom-providers.ts";
import { WORKERS_AI } from "../../gateways/request.ts";
import { ACCOUNT_ID } from "../../http/authenticate.ts";
import { readJson, readRawInputs } from "../../http/body.ts";
import {
	ANTHROPIC_KEY,
	AUTHORIZATION,
	type CredentialLocation,
	GEMINI_KEYS,
	SDK_AUTHORIZATION,
	usedLocation,
	WEBSOCKET_PROTOCOL,
} from "../../http/credentials.ts";
import {
	type FailureFormat,
	geminiFailure,
	messagesFailure,
	openAiFailure,
} from "../../http/failure-formats.ts";
import {
	BY_MODEL,
	type Call,
	methodNotAllowed,
	pathParameter,
	type RouteDeclaration,
} from "../../http/route.ts";
import { isUpgrade } from "../../http/socket.ts";
import type { Caller, Inputs } from "../../pipeline/request.ts";
import type { Services } from "../../pipeline/services.ts";
import { V1 } from "../bases.ts";
import { absentReason } from "../openai/openai-absent.ts";
import { hasOpenAiFailures, runSteps, type StepsContext } from "./gateway.ts";
import { gatewayFailure, gatewayPlaneFailure } from "./gateway-failure.ts";
import { authorIfKnown, COMPAT } from "./provider-names.ts";
import { EVENTS, resumeStream } from "./resume.ts";
import { readSteps, type Step, Steps } from "./step.ts";
import { universalSocket } from "./universal-socket.ts";

/** A provider's API may use any method. Only POST runs a model. */
const OTHER_METHODS = ["GET", "PUT", "PATCH", "DELETE"] as const;

/** A missing or invalid credential has AI Gateway's code and format, also at the address of a provider. */
const refusedByGateway =
	(failure: FailureFormat): FailureFormat =>
	(error, requestId, request) =>
		error.key === "authentication"
			? gatewayFailure(new AiError("gatewayUnauthorized"), requestId)
			: failure(error, requestId, request);

/** Failures that show that a request is not for a gateway: by its account, its method, or its steps. */
const NOT_FOR_A_GATEWAY: ReadonlySet<string> = new Set([
	"forbidden",
	"methodNotAllowed",
	"noRoute",
	"unroutableAccount",
]);

/** Paths of OpenAI such as `/v1/responses/compact` have the form of a gateway's address. Their refusal is OpenAI's. */
const orOpenAi =
	(failure: FailureFormat): FailureFormat =>
	(error, requestId, request) => {
		const reason = NOT_FOR_A_GATEWAY.has(error.key) ? absentReason(request.path) : undefined;
		return reason === undefined
			? failure(error, requestId, request)
			: openAiFailure(new AiError("noRoute", reason), requestId);
	};

const providerFailure: FailureFormat = (error, requestId, request) => {
	const provider = request.param("provider") ?? "";
	const endpoint = request.param("endpoint") ?? "";
	const isOpenAi = error.failure.plane !== "gateway" && hasOpenAiFailures({ provider, endpoint });
	return (isOpenAi ? openAiFailure : gatewayPlaneFailure)(error, requestId, request);
};

/** Below `/v1`: the universal address, and one for each provider. Callers may omit the universal address's trailing slash. */
export const ADDRESSES: readonly RouteDeclaration[] = [
	{
		method: "POST",
		path: "/:account/:gateway",
		summary: "Runs requests in order until one succeeds",
		input: {
			type: "application/json",
			schema: Steps,
			example: [
				{
					provider: "workers-ai",
					endpoint: "@cf/meta/llama-3.3-70b-instruct-fp8-fast",
					query: { prompt: "Hello, who are you?" },
				},
			],
		},
		output: BY_MODEL,
		permission: "run",
		failure: orOpenAi(refusedByGateway(gatewayPlaneFailure)),
		unauthenticated,
		handler: (c, call) => runUniversal(requireOwnAccount(c, call), call),
	},
	{
		method: "GET",
		path: "/:account/:gateway",
		summary: "Opens a websocket for requests",
		upgrades: true,
		permission: "run",
		failure: orOpenAi(refusedByGateway(gatewayPlaneFailure)),
		credentials: [AUTHORIZATION, WEBSOCKET_PROTOCOL],
		unauthenticated,
		handler: (c, call) => openSocket(requireOwnAccount(c, call), call),
	},
	{
		method: "GET",
		path: "/:account/:gateway/run/:run/resume",
		summary: "Resumes a stream",
		// The body of its 404 has a format of its own.
		hidden: true,
		output: EVENTS,
		permission: "run",
		failure: refusedByGateway(gatewayPlaneFailure),
		handler: (c, call) => resumeStream(requireOwnAccount(c, call), call),
	},
	// The SDKs of these providers send their key in other headers.
	...providerAddresses("/:provider{anthropic}", {
		failure: messagesFailure,
		credentials: [AUTHORIZATION, ANTHROPIC_KEY],
	}),
	...providerAddresses("/:provider{google-ai-studio}", {
		failure: geminiFailure,
		credentials: [AUTHORIZATION, ...GEMINI_KEYS],
	}),
	// fal's SDK sends all requests to the address of its proxy.
	...providerAddresses("/:provider{fal}", { endpoint: "" }).map((route) => ({
		...route,
		hidden: true as const,
	})),
	...providerAddresses("/:provider"),
];

const NO_RELAY =
	"Websockets of providers are not relayed: use the universal websocket, or call the provider directly";

function providerAddresses(
	provider: string,
	{
		failure = providerFailure,
		credentials = [SDK_AUTHORIZATION],
		endpoint = "/:endpoint{.+}",
	}: Pick<RouteDeclaration, "failure" | "credentials"> & { endpoint?: string } = {},
): RouteDeclaration[] {
	const address: Omit<RouteDeclaration, "method" | "summary"> = {
		path: `/:account/:gateway${provider}${endpoint}`,
		permission: "run",
		failure: orOpenAi(refusedByGateway(failure)),
		credentials,
		unauthenticated,
		handler: (c, call) =>
			answerSteps(requireProvider(requireOwnAccount(c, call)), call, {
				source: sourceOf("Provider", c.req.raw.headers),
				address: { provider: pathParameter(c, "provider"), path: pathParameter(c, "endpoint") },
				read: async () => {
					if (isUpgrade(c.req.raw)) throw new AiError("noWebsocket", NO_RELAY);
					return [await stepOf(c, call, [...(V1.credentials ?? []), ...credentials])];
				},
			}),
	};
	return [
		{
			...address,
			method: "POST",
			summary: "Runs a model at a provider's address, or passes the request to the provider",
			input: { ...BY_MODEL, example: { prompt: "Hello, who are you?" } },
			output: BY_MODEL,
		},
		// The answers are the provider's, which the document does not know.
		{ ...address, method: OTHER_METHODS, summary: "Passes the request to the provider", hidden: true },
	];
}

/** A gateway without authentication serves every caller, if the operator allows it. Its account pays. */
async function unauthenticated(
	c: Context,
	{ gateways, gatewayRules }: Services,
): Promise<Caller | undefined> {
	const account = c.req.param("account") ?? "";
	if (!gatewayRules.allowUnauthenticated || !ACCOUNT_ID.test(account)) return undefined;
	const settings = await gateways.find(account, pathParameter(c, "gateway"));
	if (settings?.authentication !== false) return undefined;
	return { account, credential: { kind: "operator" }, verified: true };
}

/** The credential of this gateway is removed from the request. Without one, the provider's key may be in its location. */
async function stepOf(
	c: Context,
	{ services, identity }: Call,
	locations: readonly CredentialLocation[],
): Promise<Step> {
	const { raw } = c.req;
	const headers = new Headers(raw.headers);
	const query = new URL(raw.url).searchParams;
	const used = identity.unauthenticated ? undefined : usedLocation(c.req, locations);
	if (used?.in === "header") headers.delete(used.name);
	let search = new URL(raw.url).search;
	if (used?.in === "query") {
		query.delete(used.name);
		search = query.size > 0 ? `?${query}` : "";
	}
	const { inputs, bytes } = await readOptionalBody(raw, services);
	const provider = pathParameter(c, "provider");
	return {
		provider,
		endpoint: endpointOf(provider, pathParameter(c, "endpoint") + search, headers),
		headers: raw.headers,
		inputs,
		options: {},
		sent: { method: raw.method, headers, ...(bytes && { body: bytes }) },
	};
}

const MAY_HAVE_NO_BODY: ReadonlySet<string> = new Set(["GET", "DELETE", "POST"]);

async function readOptionalBody(
	request: Request,
	services: Services,
): Promise<{ inputs: Inputs; bytes?: Uint8Array<ArrayBuffer> }> {
	if (!request.body && MAY_HAVE_NO_BODY.has(request.method)) return { inputs: { fields: undefined } };
	return readRawInputs(request, services);
}

/** Throws if the account of the path is not the caller's. On a binding they may differ. */
function requireOwnAccount(c: Context, { caller }: Call): Context {
	if (c.req.param("account") !== caller.account) throw new AiError("unroutableAccount");
	return c;
}

/** Throws 7000 for a path of OpenAI, such as `/v1/threads/{thread}/runs/{run}`, whose third segment is not a provider. */
function requireProvider(c: Context): Context {
	if (absentReason(c.req.path) !== undefined && !isKnownProvider(pathParameter(c, "provider")))
		throw new AiError("noRoute");
	return c;
}

const isKnownProvider = (slug: string): boolean =>
	[WORKERS_AI, COMPAT].includes(slug) ||
	[customSlug(slug), authorIfKnown(slug)].some((name) => name !== undefined) ||
	isProvider(slug);

function openSocket(c: Context, { caller, services }: Call): Response {
	if (!isUpgrade(c.req.raw)) throw methodNotAllowed(c);
	const gateway = pathParameter(c, "gateway");
	const { headers } = c.req.raw;
	const options = optionsInHeaders(headers);
	const source = sourceOf("WebSockets", headers);
	return universalSocket(c.req.raw, { caller, gateway, options, source, services });
}

export async function runUniversal(c: Context, call: Call): Promise<Response> {
	const read = async (): Promise<Step[]> => readSteps(await readJson(c.req.raw, call.services));
	const source = sourceOf("Universal", c.req.raw.headers);
	if (absentReason(c.req.path) === undefined) return answerSteps(c, call, { source, read });
	const steps = await read().catch(() => {
		throw new AiError("noRoute");
	});
	return answerSteps(c, call, { source, read: async () => steps });
}

const answerSteps = (
	c: Context,
	{ caller, services }: Call,
	{ read, ...request }: Pick<StepsContext, "source" | "address"> & { read: () => Promise<Step[]> },
): Promise<Response> =>
	runSteps(read, {
		...request,
		caller,
		gateway: c.req.param("gateway") ?? "",
		options: optionsInHeaders(c.req.raw.headers),
		signal: c.req.raw.signal,
		services,
	});
