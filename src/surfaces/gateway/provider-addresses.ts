/**
 * AI Gateway's addresses of providers, `{base}/{provider}/{path of its API}`: over HTTP below `/v1/{account}/{gateway}`, on the binding
 * below `/ai-gateway/gateways/{gateway}`.
 */
import type { Context } from "hono";
import { AiError } from "../../core/errors.ts";
import { sourceOf } from "../../gateways/exchange.ts";
import { optionsInHeaders } from "../../gateways/options.ts";
import { endpointOf } from "../../gateways/providers/addresses.ts";
import { removeKey, withoutScheme } from "../../gateways/providers/headers.ts";
import { WORKERS_AI } from "../../gateways/request.ts";
import { COMPAT, isKnownProvider } from "../../gateways/run/provider-names.ts";
import type { Step } from "../../gateways/run/step.ts";
import { readRawInputs } from "../../http/body.ts";
import {
	ANTHROPIC_KEY,
	AUTHORIZATION,
	AZURE_KEY,
	type CredentialLocation,
	GEMINI_KEYS,
	SDK_AUTHORIZATION,
	usedLocation,
} from "../../http/credentials.ts";
import { geminiFailure, messagesFailure } from "../../http/failure-formats.ts";
import { BY_MODEL, pathParameter } from "../../http/route.ts";
import { isUpgrade } from "../../http/socket.ts";
import type { Inputs } from "../../pipeline/request.ts";
import { absentReason } from "../openai/openai-absent.ts";
import type { AppCall, AppRouteDeclaration } from "../route.ts";
import type { AppServices } from "../services.ts";
import { orOpenAi, providerFailure, refusedByGateway } from "./address-failures.ts";
import { runSteps, type StepsRequest } from "./steps.ts";

/** A provider's API may use any method. Only POST runs a model. */
const OTHER_METHODS = ["GET", "PUT", "PATCH", "DELETE"] as const;

const NO_RELAY =
	"Websockets of providers are not relayed: use the universal websocket, or call the provider directly";

interface AddressBase extends Pick<AppRouteDeclaration, "unauthenticated"> {
	/** Locations of this gateway's credential, beside those where an SDK has its key. Absent: the requests have no such credential. */
	ownCredentials?: readonly CredentialLocation[];
	/** Throws if the address is not the caller's. */
	check?(c: Context, call: AppCall): void;
}

/** `base`: the path of a gateway, with the parameter `:gateway`. */
export function providerAddresses(base: string, options: AddressBase = {}): AppRouteDeclaration[] {
	const at = (provider: string, own: OwnFormat = {}): AppRouteDeclaration[] =>
		addressesOf(`${base}${provider}`, own, options);
	return [
		// The SDKs of these providers send their key in other headers.
		...at("/:provider{anthropic}", {
			failure: messagesFailure,
			credentials: [AUTHORIZATION, ANTHROPIC_KEY],
		}),
		...at("/:provider{google-ai-studio}", {
			failure: geminiFailure,
			credentials: [AUTHORIZATION, ...GEMINI_KEYS],
		}),
		// Its addresses of Anthropic's API have Anthropic's header.
		...at("/:provider{aws-bedrock}", { credentials: [SDK_AUTHORIZATION, ANTHROPIC_KEY] }),
		...at("/:provider{azure-openai}", { credentials: [SDK_AUTHORIZATION, AZURE_KEY] }),
		// fal's SDK sends all requests to the address of its proxy.
		...at("/:provider{fal}", { endpoint: "" }).map((route) => ({
			...route,
			hidden: true as const,
		})),
		...at("/:provider"),
	];
}

type OwnFormat = Pick<AppRouteDeclaration, "failure" | "credentials"> & { endpoint?: string };

function addressesOf(
	path: string,
	{ failure = providerFailure, credentials = [SDK_AUTHORIZATION], endpoint = "/:endpoint{.+}" }: OwnFormat,
	{ unauthenticated, ownCredentials, check }: AddressBase,
): AppRouteDeclaration[] {
	const address: Omit<AppRouteDeclaration, "method" | "summary"> = {
		path: `${path}${endpoint}`,
		permission: "run",
		failure: orOpenAi(refusedByGateway(failure)),
		credentials,
		...(unauthenticated && { unauthenticated }),
		handler(c, call) {
			check?.(c, call);
			requireProvider(c);
			requirePost(c);
			return answerSteps(c, call, {
				source: sourceOf("Provider", c.req.raw.headers),
				address: { provider: pathParameter(c, "provider"), path: pathParameter(c, "endpoint") },
				read: async () => {
					if (isUpgrade(c.req.raw)) throw new AiError("noWebsocket", NO_RELAY);
					return [await stepOf(c, call, ownCredentials ? [...ownCredentials, ...credentials] : [])];
				},
			});
		},
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

export const answerSteps = (
	c: Context,
	{ caller, services }: AppCall,
	{ read, ...request }: Pick<StepsRequest, "source" | "address"> & { read: () => Promise<Step[]> },
): Promise<Response> =>
	runSteps(read, {
		...request,
		caller,
		gateway: c.req.param("gateway") ?? "",
		options: optionsInHeaders(c.req.raw.headers),
		signal: c.req.raw.signal,
		services,
	});

/** The credential of this gateway is removed from the request. Without one, the provider's key may be in its location. */
async function stepOf(
	c: Context,
	{ services, identity }: AppCall,
	locations: readonly CredentialLocation[],
): Promise<Step> {
	const { raw } = c.req;
	const headers = new Headers(raw.headers);
	const query = new URL(raw.url).searchParams;
	const used = identity.unauthenticated ? undefined : usedLocation(c.req, locations);
	const text = used && withoutScheme((used.in === "query" ? query : headers).get(used.name) ?? "");
	if (used?.in === "header") headers.delete(used.name);
	if (text) removeKey(headers, text);
	let search = new URL(raw.url).search;
	for (const { in: place, name } of locations)
		if (place === "query" && text && withoutScheme(query.get(name) ?? "") === text) {
			query.delete(name);
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
	services: AppServices,
): Promise<{ inputs: Inputs; bytes?: Uint8Array<ArrayBuffer> }> {
	if (!request.body && MAY_HAVE_NO_BODY.has(request.method)) return { inputs: { fields: undefined } };
	return readRawInputs(request, services);
}

/** Throws 7000 for a path of OpenAI, such as `/v1/threads/{thread}/runs/{run}`, whose third segment is not a provider. */
function requireProvider(c: Context): void {
	if (!isKnownProvider(pathParameter(c, "provider")) && absentReason(c.req.path) !== undefined)
		throw new AiError("noRoute");
}

/** Throws 7001 for another method where the gateway itself runs the models. */
function requirePost(c: Context): void {
	const { method } = c.req;
	if (method === "POST" || isUpgrade(c.req.raw)) return;
	const provider = pathParameter(c, "provider");
	if (provider === WORKERS_AI || provider === COMPAT)
		throw new AiError("methodNotAllowed", `${method} not supported for requested URI: send a POST request.`);
}
