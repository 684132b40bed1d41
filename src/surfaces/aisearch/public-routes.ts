/**
 * The public endpoints of instances, at `/search/{account}/{public_endpoint_id}`, and of namespaces, at
 * `/search/{account}/ns-{public_endpoint_id}`: the product has a host for each. The caller has no
 * credential, so the rate is limited before the body is read, and the request names no model, tool or prompt of its own.
 *
 * A page of another origin may call it only from one of `authorized_hosts`. Other requests have no origin, and are allowed.
 */
import type { Context } from "hono";
import { AiError, toAiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { onFirstUse } from "../../core/lazy.ts";
import { isLeftOut } from "../../core/left-out.ts";
import { readAccountJson } from "../../http/account-request.ts";
import { ACCOUNT_ID, identifyCaller } from "../../http/authenticate.ts";
import { pathParameter } from "../../http/route.ts";
import type { Caller } from "../../pipeline/request.ts";
import { searchFailure } from "../../retrieval/search/failures.ts";
import { allowsOrigin, conversationOf, type PublicEndpoint } from "../../retrieval/search/public-endpoint.ts";
import type { Publisher } from "../../retrieval/search/records.ts";
import { type AppCall, type AppRoute, type AppRouteDeclaration, defineRoutes } from "../route.ts";
import { failure, TAG } from "./call.ts";
import { type NotedResult, notedEnvelope } from "./lexical-scores.ts";
import { chat, chatNamespace, type SearchedCall, search, searchNamespace } from "./search-operations.ts";

/** A question, its conversation and filters. */
const MAX_BODY_BYTES = 64 * 1_024;
const PREFLIGHT_SECONDS = "600";
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Of a namespace. The rest is the UUID. */
const NAMESPACE_PREFIX = "ns-";

type Fields = Record<string, unknown>;

interface PublicCall {
	endpoint: PublicEndpoint;
	isNamespace: boolean;
	/** Of the MCP server. */
	name: string;
	version: string;
	search(sent: Fields): Promise<NotedResult<object>>;
	chat(sent: Fields): Promise<Response>;
	/** Throws 60015 for a body that is no object. */
	body(): Promise<Fields>;
}

type Answer = (call: PublicCall, c: Context, app: AppCall) => Promise<Response>;

async function publicCall(c: Context, { services }: AppCall): Promise<PublicCall> {
	const account = pathParameter(c, "account");
	const endpoint = pathParameter(c, "endpoint");
	const isNamespace = endpoint.startsWith(NAMESPACE_PREFIX);
	const id = isNamespace ? endpoint.slice(NAMESPACE_PREFIX.length) : endpoint;
	// A stranger must not open objects of accounts that do not exist.
	if (!ACCOUNT_ID.test(account) || !UUID.test(id) || (await services.directory.find(account)) === undefined)
		throw searchFailure("searchEndpointUnknown");
	const target = await (isNamespace ? namespaceTarget : instanceTarget)(account, id, {
		...{ services, signal: c.req.raw.signal, isPublic: true },
	});
	return {
		...{ ...target, isNamespace },
		async body() {
			const body = await readAccountJson(c.req.raw, { ...services, limits: bodyLimits(services) });
			if (!isRecord(body)) throw searchFailure("searchEndpointBody");
			return body;
		},
	};
}

type Target = Omit<PublicCall, "body" | "isNamespace">;
type TargetCall = Pick<SearchedCall, "services" | "signal" | "isPublic">;

async function instanceTarget(account: string, id: string, call: TargetCall): Promise<Target> {
	const { searchInstances } = call.services;
	const { endpoint, publisher, target } = await searchInstances.publicRequest(account, id);
	const caller = await callerOf(publisher, call);
	const searched = { ...call, caller, instance: searchInstances.opened(account, target) };
	return {
		...{ endpoint, name: target.id, version: String(target.indexVersion) },
		search: (sent) => search(sent, searched),
		chat: (sent) => chat(sent, searched),
	};
}

async function namespaceTarget(account: string, id: string, call: TargetCall): Promise<Target> {
	const { searchInstances } = call.services;
	const { endpoint, publisher, target } = await searchInstances.publicNamespaceRequest(account, id);
	const caller = await callerOf(publisher, call);
	const { name } = target;
	const searched = { ...call, caller, namespace: name };
	/** Throws 60012, and 60013 for an instance that is not allowed, and if none is left. */
	async function chosen({ ai_search_options: options, ...sent }: Fields): Promise<Fields> {
		const named = namedInstances(options) ?? endpoint.instances_allowed;
		// Each is looked up once: a caller without a credential may send thousands.
		const records = await Promise.all(
			[...new Set(named)].map((instance) =>
				endpoint.instances_allowed.includes(instance)
					? searchInstances.find(account, name, instance)
					: undefined,
			),
		);
		const isAllowed = named === endpoint.instances_allowed || !records.includes(undefined);
		const present = records.flatMap((record) => record?.id ?? []);
		if (!isAllowed || present.length === 0) throw searchFailure("searchEndpointEmpty");
		return { ...sent, ai_search_options: { ...(options as Fields), instance_ids: present } };
	}
	return {
		...{ endpoint, name, version: "1" },
		search: async (sent) => searchNamespace(await chosen(sent), searched),
		chat: async (sent) => chatNamespace(await chosen(sent), searched),
	};
}

/** `undefined`: all that are allowed. Throws 60012. */
function namedInstances(options: unknown): readonly string[] | undefined {
	const named = isRecord(options) ? (options.instance_ids ?? undefined) : undefined;
	if (named === undefined) return undefined;
	if (!Array.isArray(named) || named.length === 0 || !named.every((id) => typeof id === "string"))
		throw searchFailure("searchEndpointInstances");
	return named;
}

const callerOf = (publisher: Publisher, { services }: TargetCall): Promise<Caller> =>
	identifyCaller(publisher, services.ledgers).catch((thrown: unknown) => {
		// The token was revoked since then.
		throw toAiError(thrown).status < 500 ? searchFailure("searchEndpointOff") : thrown;
	});

const bodyLimits = ({ limits }: Pick<AppCall["services"], "limits">) => ({
	...limits,
	jsonBytes: Math.min(MAX_BODY_BYTES, limits.jsonBytes),
});

/** The retrieval of the request, without models. */
function retrievalOf({ ai_search_options: options }: Fields): Fields {
	const { instance_ids, retrieval } = isRecord(options) ? options : {};
	return {
		ai_search_options: {
			...(retrieval !== undefined && { retrieval }),
			...(instance_ids !== undefined && { instance_ids }),
		},
	};
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
		response = await answer(own, c, call);
	} catch (thrown) {
		const error = toAiError(thrown);
		call.services.log(error, call.id);
		response = failure(error, call.id, c.req);
	}
	const sent = new Response(response.body, response);
	sent.headers.append("vary", "Origin");
	if (origin !== undefined && isAuthorized) {
		sent.headers.set("access-control-allow-origin", origin);
		sent.headers.set(
			"access-control-expose-headers",
			"retry-after, x-ganglion-dropped, x-ganglion-scores, cf-aig-cache-status",
		);
	}
	return sent;
}

const preflight: Answer = () =>
	Promise.resolve(
		new Response(null, {
			status: 204,
			headers: {
				"access-control-allow-methods": "POST",
				// The components of the product send where a request is from.
				"access-control-allow-headers":
					"content-type, accept, cf-ai-search-source, mcp-protocol-version, mcp-method, mcp-name",
				"access-control-max-age": PREFLIGHT_SECONDS,
			},
		}),
	);

const searchAnswer: Answer = async ({ body, endpoint, search: found }) => {
	if (endpoint.search_endpoint.disabled) throw searchFailure("searchEndpointSearchOff");
	const sent = await body();
	const { messages, query } = sent;
	return notedEnvelope(
		await found({ query, messages: messages && conversationOf(messages), ...retrievalOf(sent) }),
	);
};

const chatAnswer: Answer = async ({ body, chat: answer, endpoint }) => {
	if (endpoint.chat_completions_endpoint.disabled) throw searchFailure("searchEndpointChatOff");
	const sent = await body();
	const { messages, stream } = sent;
	return answer({ messages: conversationOf(messages), stream, ...retrievalOf(sent) });
};

const mcpAnswer: Answer = async ({ endpoint, name, search: found, version }, c, { services }) => {
	if (endpoint.mcp.disabled || isLeftOut("mcp")) throw searchFailure("searchEndpointMcpOff");
	const { answerMcp } = await mcpServer();
	return answerMcp(c.req.raw, {
		...{ name, version, description: endpoint.mcp.description },
		services: { ...services, limits: bodyLimits(services) },
		search: (query) => found({ query }),
	});
};

const mcpMethod: Answer = () => Promise.reject(searchFailure("searchEndpointMethod"));

/** Of the product's components for web pages. */
const NO_SCRIPTS = "take the components from the npm package @cloudflare/ai-search-snippet";
const NO_STATISTICS = "no statistics of pages are kept";

const absent =
	(reason: string): Answer =>
	({ isNamespace }) =>
		Promise.reject(searchFailure(isNamespace ? "searchEndpointNamespacePath" : "searchEndpointPath", reason));

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
		route("POST", "/search", "Searches by a public endpoint", searchAnswer),
		route("POST", "/chat/completions", "Answers a chat by a public endpoint", chatAnswer),
		route("POST", "/mcp", "Serves a public endpoint as an MCP server", mcpAnswer),
		route(["GET", "DELETE"], "/mcp", "Refuses other methods of an MCP server", mcpMethod),
		route("GET", "/assets/*", "Refuses to serve the product's components", absent(NO_SCRIPTS)),
		route("POST", "/stats", "Refuses the statistics of the product's components", absent(NO_STATISTICS)),
		...["/search", "/chat/completions", "/mcp", "/stats"].map((path) =>
			route("OPTIONS", path, "Answers the preflight of a page", preflight),
		),
	],
);
