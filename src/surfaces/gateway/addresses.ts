import type { Context } from "hono";
import { AiError } from "../../core/errors.ts";
import { sourceOf } from "../../gateways/exchange.ts";
import { optionsInHeaders } from "../../gateways/options.ts";
import type { Step } from "../../gateways/run/step.ts";
import { ACCOUNT_ID } from "../../http/authenticate.ts";
import { readJson } from "../../http/body.ts";
import { AUTHORIZATION, WEBSOCKET_PROTOCOL } from "../../http/credentials.ts";
import { BY_MODEL, methodNotAllowed, pathParameter } from "../../http/route.ts";
import { isUpgrade } from "../../http/socket.ts";
import type { Caller } from "../../pipeline/request.ts";
import { V1 } from "../bases.ts";
import { absentReason } from "../openai/openai-absent.ts";
import type { AppCall, AppRouteDeclaration } from "../route.ts";
import type { AppServices } from "../services.ts";
import { orOpenAi, refusedByGateway } from "./address-failures.ts";
import { gatewayPlaneFailure } from "./gateway-failure.ts";
import { answerSteps, providerAddresses } from "./provider-addresses.ts";
import { EVENTS, resumeStream } from "./resume.ts";
import { readSteps, Steps } from "./step.ts";
import { universalSocket } from "./universal-socket.ts";

/** Below `/v1`: the universal address, and one for each provider. Callers may omit the universal address's trailing slash. */
export const ADDRESSES: readonly AppRouteDeclaration[] = [
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
	...providerAddresses("/:account/:gateway", {
		unauthenticated,
		ownCredentials: V1.credentials ?? [],
		check: requireOwnAccount,
	}),
];

/** A gateway without authentication serves every caller, if the operator allows it. Its account pays. */
async function unauthenticated(
	c: Context,
	{ gateways, gatewayRules }: AppServices,
): Promise<Caller | undefined> {
	const account = c.req.param("account") ?? "";
	if (!gatewayRules.allowUnauthenticated || !ACCOUNT_ID.test(account)) return undefined;
	const settings = await gateways.find(account, pathParameter(c, "gateway"));
	if (settings?.authentication !== false) return undefined;
	return { account, credential: { kind: "operator", unauthenticated: true }, verified: true };
}

/** Throws if the account of the path is not the caller's. On a binding they may differ. */
function requireOwnAccount(c: Context, { caller }: AppCall): Context {
	if (c.req.param("account") !== caller.account) throw new AiError("unroutableAccount");
	return c;
}

function openSocket(c: Context, { caller, services }: AppCall): Response {
	if (!isUpgrade(c.req.raw)) throw methodNotAllowed(c);
	const gateway = pathParameter(c, "gateway");
	const { headers } = c.req.raw;
	const options = optionsInHeaders(headers);
	const source = sourceOf("WebSockets", headers);
	return universalSocket(c.req.raw, { caller, gateway, options, source, services });
}

export async function runUniversal(c: Context, call: AppCall): Promise<Response> {
	const read = async (): Promise<Step[]> => readSteps(await readJson(c.req.raw, call.services));
	const source = sourceOf("Universal", c.req.raw.headers);
	if (absentReason(c.req.path) === undefined) return answerSteps(c, call, { source, read });
	const steps = await read().catch(() => {
		throw new AiError("noRoute");
	});
	return answerSteps(c, call, { source, read: async () => steps });
}
