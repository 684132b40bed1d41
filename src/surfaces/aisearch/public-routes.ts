/**
 * The public endpoints of instances, at `/search/{account}/{public_endpoint_id}`: the product has a host for each. The caller has no
 * credential, so the rate is limited before the body is read, and the request names no model, tool or prompt of its own.
 *
 * A page of another origin may call it only from one of `authorized_hosts`. Other requests have no origin, and are allowed.
 */
import type { Context } from "hono";
import { AiError, toAiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { onFirstUse } from "../../core/lazy.ts";
import { isLeftOut } from "../../core/left-out.ts";
import { ACCOUNT_ID, identifyCaller } from "../../http/authenticate.ts";
import { readJson } from "../../http/body.ts";
import { pathParameter } from "../../http/route.ts";
import { searchFailure } from "../../retrieval/search/failures.ts";
import { allowsOrigin, conversationOf, type PublicEndpoint } from "../../retrieval/search/public-endpoint.ts";
import { type AppCall, type AppRoute, type AppRouteDeclaration, defineRoutes } from "../route.ts";
import { failure, TAG } from "./call.ts";
import { notedEnvelope } from "./lexical-scores.ts";
import { chat, type SearchedCall, search } from "./search-operations.ts";

/** A question, its conversation and filters. */
const MAX_BODY_BYTES = 64 * 1_024;
const PREFLIGHT_SECONDS = "600";
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

interface PublicCall {
	endpoint: PublicEndpoint;
	/** As who has switched the endpoint on. */
	searched: SearchedCall;
	/** Throws 60015 for a body that is no object. */
	body(): Promise<Record<string, unknown>>;
}

type Answer = (call: PublicCall, c: Context) => Promise<Response>;

async function publicCall(c: Context, { services }: AppCall): Promise<PublicCall> {
	const account = pathParameter(c, "account");
	const id = pathParameter(c, "endpoint");
	// A stranger must not open objects of accounts that do not exist.
	if (!ACCOUNT_ID.test(account) || !UUID.test(id) || (await services.directory.find(account)) === undefined)
		throw searchFailure("searchEndpointUnknown");
	const { endpoint, instance, publisher } = await services.searchInstances.publicRequest(account, id);
	const caller = await identifyCaller(publisher, services.ledgers).catch((thrown: unknown) => {
		// The token was revoked since then.
		throw toAiError(thrown).status < 500 ? searchFailure("searchEndpointOff") : thrown;
	});
	const bodyLimits = { ...services.limits, jsonBytes: Math.min(MAX_BODY_BYTES, services.limits.jsonBytes) };
	return {
		endpoint,
		searched: { caller, instance, services, signal: c.req.raw.signal, isPublic: true },
		async body() {
			const body = await readJson(c.req.raw, { ...services, limits: bodyLimits });
			if (!isRecord(body)) throw searchFailure("searchEndpointBody");
			return body;
		},
	};
}

/** The retrieval of the request, without models. */
function retrievalOf({ ai_search_options: options }: Record<string, unknown>): object {
	const retrieval = isRecord(options) ? options.retrieval : undefined;
	return { ai_search_options: retrieval === undefined ? {} : { retrieval } };
}

/** With the headers for the page that has called. Failures have them, too. */
async function answered(c: Context, call: AppCall, answer: Answer): Promise<Response> {
	const origin = c.req.header("origin");
	let isAuthorized = false;
	let response: Response;
	try {
		const own = await publicCall(c, call);
		isAuthorized = origin !== undefined && allowsOrigin(origin, own.endpoint);
		if (origin !== undefined && origin !== new URL(c.req.url).origin && !isAuthorized)
			throw new AiError("forbidden", "The origin is not one of authorized_hosts");
		response = await answer(own, c);
	} catch (thrown) {
		const error = toAiError(thrown);
		call.services.log(error, call.id);
		response = failure(error, call.id, c.req);
	}
	const sent = new Response(response.body, response);
	sent.headers.append("vary", "Origin");
	if (origin !== undefined && isAuthorized) {
		sent.headers.set("access-control-allow-origin", origin);
		sent.headers.set("access-control-expose-headers", "retry-after, x-ganglion-scores, cf-aig-cache-status");
	}
	return sent;
}

const preflight: Answer = () =>
	Promise.resolve(
		new Response(null, {
			status: 204,
			headers: {
				"access-control-allow-methods": "POST",
				"access-control-allow-headers": "content-type, accept, mcp-protocol-version, mcp-method, mcp-name",
				"access-control-max-age": PREFLIGHT_SECONDS,
			},
		}),
	);

const searchAnswer: Answer = async ({ body, endpoint, searched }) => {
	if (endpoint.search_endpoint.disabled) throw searchFailure("searchEndpointSearchOff");
	const sent = await body();
	const { messages, query } = sent;
	return notedEnvelope(
		await search({ query, messages: messages && conversationOf(messages), ...retrievalOf(sent) }, searched),
	);
};

const chatAnswer: Answer = async ({ body, endpoint, searched }) => {
	if (endpoint.chat_completions_endpoint.disabled) throw searchFailure("searchEndpointChatOff");
	const sent = await body();
	const { messages, stream } = sent;
	return chat({ messages: conversationOf(messages), stream, ...retrievalOf(sent) }, searched);
};

const mcpAnswer: Answer = async ({ endpoint, searched }, c) => {
	if (endpoint.mcp.disabled || isLeftOut("mcp")) throw searchFailure("searchEndpointMcpOff");
	const { answerMcp } = await mcpServer();
	const { services } = searched;
	const limits = { ...services.limits, jsonBytes: Math.min(MAX_BODY_BYTES, services.limits.jsonBytes) };
	return answerMcp(c.req.raw, { ...searched, services: { ...services, limits } }, endpoint.mcp.description);
};

const mcpMethod: Answer = () => Promise.reject(searchFailure("searchEndpointMethod"));

const mcpServer = onFirstUse(() => import("./mcp-server.ts"));

const route = (
	method: AppRouteDeclaration["method"],
	path: string,
	summary: string,
	answer: Answer,
): AppRouteDeclaration => ({
	...{ method, path, summary, permission: "none" },
	// They are described by the instance, and the OpenAPI document is for callers with a token.
	hidden: true,
	handler: (c, call) => answered(c, call, answer),
});

export const publicSearchRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [{ path: "/search/:account/:endpoint", account: "optional" }], tag: TAG, failure },
	[
		route("POST", "/search", "Searches an instance by its public endpoint", searchAnswer),
		route("POST", "/chat/completions", "Answers a chat by the public endpoint of an instance", chatAnswer),
		route("POST", "/mcp", "Serves the public endpoint of an instance as an MCP server", mcpAnswer),
		route(["GET", "DELETE"], "/mcp", "Refuses other methods of an MCP server", mcpMethod),
		...["/search", "/chat/completions", "/mcp"].map((path) =>
			route("OPTIONS", path, "Answers the preflight of a page", preflight),
		),
	],
);
