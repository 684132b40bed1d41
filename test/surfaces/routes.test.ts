import { beforeAll, describe, expect, it } from "vitest";
import { newTokenText } from "../../src/accounts/token-text.ts";
import { wireOf, wireRoutes } from "../../src/surfaces/binding/binding.ts";
import { ROUTES, UNKNOWN_PATHS } from "../../src/surfaces/routes.ts";
import { ADMIN, closedGateway, json, UNAUTHENTICATED } from "../http/access.ts";

/** `token`: any valid token of the account. */
type Needed =
	| "none"
	| "read"
	| "run"
	| "write"
	| "gateways-write"
	| "tokens-read"
	| "tokens-write"
	| "search-run"
	| "search-read"
	| "search-write"
	| "vectorize-read"
	| "vectorize-write"
	| "token"
	| "operator";
type Format = "v4" | "openai" | "anthropic" | "gemini" | "gateway" | "gateway anthropic" | "gateway gemini";
type Row = [needed: Needed, route: string, format?: Format];

/** Stored responses and conversations. */
const below = (base: string, rows: readonly Row[]): Row[] =>
	rows.map(([needed, route, format]) => [needed, route.replace(" ", ` ${base}`), format ?? "v4"]);

const RAGS: readonly Row[] = [
	["search-read", "GET /autorag/rags"],
	["search-run", "POST /autorag/rags/:instance/search"],
	["search-run", "POST /autorag/rags/:instance/ai-search"],
	["search-write", "PATCH /autorag/rags/:instance/sync"],
];
const SEARCH_INSTANCES: readonly Row[] = [
	["search-read", "GET "],
	["search-write", "POST "],
	["search-read", "GET /:instance"],
	["search-write", "PUT /:instance"],
	["search-write", "DELETE /:instance"],
	["search-read", "GET /:instance/stats"],
	["search-run", "POST /:instance/search"],
	["search-run", "POST /:instance/chat/completions"],
	["search-run", "POST /:instance/mcp"],
	["search-read", "GET /:instance/items"],
	["search-write", "POST /:instance/items"],
	["search-write", "PUT /:instance/items"],
	["search-read", "GET /:instance/items/:item"],
	["search-write", "PATCH /:instance/items/:item"],
	["search-write", "DELETE /:instance/items/:item"],
	["search-read", "GET /:instance/items/:item/download"],
	["search-read", "GET /:instance/items/:item/logs"],
	["search-read", "GET /:instance/items/:item/chunks"],
	["search-read", "GET /:instance/jobs"],
	["search-write", "POST /:instance/jobs"],
	["search-read", "GET /:instance/jobs/:job"],
	["search-write", "PATCH /:instance/jobs/:job"],
	["search-read", "GET /:instance/jobs/:job/logs"],
];

const STORED: readonly Row[] = [
	["run", "GET /responses/:response{resp_[^/]*}", "openai"],
	["run", "DELETE /responses/:response{resp_[^/]*}", "openai"],
	["run", "POST /responses/:response{resp_[^/]*}/cancel", "openai"],
	["run", "GET /responses/:response{resp_[^/]*}/input_items", "openai"],
	["run", "POST /responses/compact", "openai"],
	["run", "POST /conversations", "openai"],
	["run", "GET /conversations/:conversation{conv_[^/]*}", "openai"],
	["run", "POST /conversations/:conversation{conv_[^/]*}", "openai"],
	["run", "DELETE /conversations/:conversation{conv_[^/]*}", "openai"],
	["run", "POST /conversations/:conversation{conv_[^/]*}/items", "openai"],
	["run", "GET /conversations/:conversation{conv_[^/]*}/items", "openai"],
	["run", "GET /conversations/:conversation{conv_[^/]*}/items/:item", "openai"],
	["run", "DELETE /conversations/:conversation{conv_[^/]*}/items/:item", "openai"],
];

/** Files and batches. */
const JOBS: readonly Row[] = [
	["run", "POST /files", "openai"],
	["run", "GET /files", "openai"],
	["run", "GET /files/:file{file[^/]*}", "openai"],
	["run", "DELETE /files/:file{file[^/]*}", "openai"],
	["run", "GET /files/:file{file[^/]*}/content", "openai"],
	["run", "POST /batches", "openai"],
	["run", "GET /batches", "openai"],
	["run", "GET /batches/:batch{batch[^/]*}", "openai"],
	["run", "POST /batches/:batch{batch[^/]*}/cancel", "openai"],
];

/** Below `/ai/v1` of an account, and below `/v1`. */
const OPENAI: readonly Row[] = [
	["run", "POST /alpha/search", "openai"],
	...["", "/v1"].flatMap((base): Row[] => [
		["run", `POST ${base}/messages`, "anthropic"],
		["run", `POST ${base}/messages/count_tokens`, "anthropic"],
		["run", `POST ${base}/messages/batches`, "anthropic"],
		["run", `GET ${base}/messages/batches`, "anthropic"],
		["run", `GET ${base}/messages/batches/:message_batch`, "anthropic"],
		["run", `DELETE ${base}/messages/batches/:message_batch`, "anthropic"],
		["run", `POST ${base}/messages/batches/:message_batch/cancel`, "anthropic"],
		["run", `GET ${base}/messages/batches/:message_batch/results`, "anthropic"],
		["read", `GET ${base}/models`, "openai"],
		["read", `GET ${base}/models/:model{.+}`, "openai"],
	]),
	["run", "POST /chat/completions", "openai"],
	["run", "POST /completions", "openai"],
	["run", "POST /responses", "openai"],
	["run", "GET /responses", "openai"],
	["run", "POST /responses/input_tokens", "openai"],
	["run", "POST /embeddings", "openai"],
	["run", "POST /moderations", "openai"],
	["run", "POST /rerank", "openai"],
	...JOBS,
	...STORED,
	["run", "POST /decisions", "openai"],
	["run", "POST /systemone", "openai"],
	["run", "POST /images/generations", "openai"],
	["run", "POST /images/edits", "openai"],
	["run", "POST /audio/speech", "openai"],
	["run", "POST /audio/transcriptions", "openai"],
	["run", "POST /audio/translations", "openai"],
];

/** Below `/ai/v1` and `/ai/v1beta` of an account, and below `/v1` and `/v1beta`. */
const GEMINI_METHODS: readonly Row[] = [
	["run", "GET /batches/:gemini_batch{gemini-[^/]*}", "gemini"],
	["run", "DELETE /batches/:gemini_batch{gemini-[^/]*}", "gemini"],
	["run", "POST /batches/:gemini_batch{gemini-[^/]*}", "gemini"],
	["run", "POST /models/:model{.+}", "gemini"],
	[
		"run",
		"POST /:call{[^/]+(?:/[^/]+)?(?:/[^/]+)?:(?:generateContent|streamGenerateContent|embedContent|batchEmbedContents|countTokens|batchGenerateContent|asyncBatchEmbedContent)}",
		"gemini",
	],
];

/** Below `/ai/v1beta` of an account, and below `/v1beta`. */
const GEMINI: readonly Row[] = [
	["read", "GET /models", "gemini"],
	["read", "GET /models/:model{.+}", "gemini"],
	["run", "POST /decisions", "gemini"],
	["run", "GET /batches", "gemini"],
	...GEMINI_METHODS,
];

/** Below `/client/v4/accounts/:account`. */
const ACCOUNT: readonly Row[] = [
	["write", "GET /ai/responses/export"],
	["run", "POST /ai/run"],
	["run", "POST /ai/run/:model{.+}"],
	["run", "GET /ai/run/:model{.+}"],
	["run", "GET /ai/run/proxy"],
	["run", "POST /ai/run/proxy"],
	["run", "PUT /ai/run/proxy"],
	["run", "PATCH /ai/run/proxy"],
	["run", "DELETE /ai/run/proxy"],
	["read", "POST /ai/explain/v1/chat/completions"],
	["read", "POST /ai/explain/v1/completions"],
	["read", "POST /ai/explain/v1/responses"],
	["read", "POST /ai/explain/v1/messages"],
	["read", "POST /ai/explain/v1/v1/messages"],
	["read", "POST /ai/explain/v1/decisions"],
	["read", "POST /ai/explain/v1/systemone"],
	["read", "POST /ai/explain/v1/embeddings"],
	["read", "POST /ai/explain/v1/moderations"],
	["read", "POST /ai/explain/v1/rerank"],
	["read", "POST /ai/explain/v1/audio/speech"],
	["read", "POST /ai/explain/:model{.+}"],
	["read", "GET /ai/models/search"],
	["read", "GET /ai/models/schema"],
	["read", "GET /ai/tasks/search"],
	["read", "GET /ai/authors/search"],
	["read", "GET /ai/aliases"],
	["read", "GET /ai/aliases/:alias{.+}"],
	["write", "PUT /ai/aliases/:alias{.+}"],
	["write", "DELETE /ai/aliases/:alias{.+}"],
	["read", "GET /ai/finetunes"],
	["write", "POST /ai/finetunes"],
	["read", "GET /ai/finetunes/public"],
	["write", "POST /ai/finetunes/:finetune/finetune-assets"],
	["write", "DELETE /ai/finetunes/:finetune"],
	["run", "POST /ai/websearch"],
	["read", "GET /ai/bound-gateway"],
	["operator", "PUT /ai/bound-gateway"],
	["operator", "DELETE /ai/bound-gateway"],
	["operator", "GET /ai/place"],
	["operator", "PUT /ai/place"],
	["operator", "GET /ai/data"],
	["operator", "DELETE /ai/data"],
	["run", "POST /ai/tomarkdown"],
	["read", "GET /ai/tomarkdown/supported"],
	["read", "GET /ai/usage"],
	["operator", "GET /ai/usage/leases"],
	["operator", "POST /ai/usage/leases/:lease/forgive"],
	["read", "GET /ai/usage/limits"],
	["read", "GET /ai/usage/refused"],
	["read", "GET /ai/usage/requests"],
	["read", "GET /ai/usage/vectors"],
	["read", "GET /ai-gateway/gateways"],
	["gateways-write", "POST /ai-gateway/gateways"],
	["read", "GET /ai-gateway/gateways/:gateway"],
	["gateways-write", "PUT /ai-gateway/gateways/:gateway"],
	["gateways-write", "DELETE /ai-gateway/gateways/:gateway"],
	["read", "GET /ai-gateway/gateways/:gateway/url/:provider"],
	["read", "GET /ai-gateway/gateways/:gateway/logs"],
	["gateways-write", "DELETE /ai-gateway/gateways/:gateway/logs"],
	["write", "GET /ai-gateway/gateways/:gateway/logs/:log"],
	["write", "PATCH /ai-gateway/gateways/:gateway/logs/:log"],
	["write", "GET /ai-gateway/gateways/:gateway/logs/:log/request"],
	["write", "GET /ai-gateway/gateways/:gateway/logs/:log/response"],
	["write", "POST /ai-gateway/gateways/:gateway/replay"],
	["write", "GET /ai-gateway/gateways/:gateway/replay"],
	["write", "GET /ai-gateway/gateways/:gateway/replay/:replay"],
	["write", "GET /ai-gateway/gateways/:gateway/replay/:replay/results"],
	["write", "POST /ai-gateway/gateways/:gateway/replay/:replay/cancel"],
	["write", "DELETE /ai-gateway/gateways/:gateway/replay/:replay"],
	["write", "GET /ai-gateway/gateways/:gateway/shadows"],
	["write", "GET /ai-gateway/gateways/:gateway/shadows/:shadow/results"],
	["write", "DELETE /ai-gateway/gateways/:gateway/shadows/:shadow"],
	["read", "GET /ai-gateway/gateways/:gateway/provider_configs"],
	["gateways-write", "POST /ai-gateway/gateways/:gateway/provider_configs"],
	["gateways-write", "DELETE /ai-gateway/gateways/:gateway/provider_configs/:key"],
	["read", "GET /ai-gateway/custom-providers"],
	["gateways-write", "POST /ai-gateway/custom-providers"],
	["read", "GET /ai-gateway/custom-providers/:custom_provider"],
	["gateways-write", "PATCH /ai-gateway/custom-providers/:custom_provider"],
	["gateways-write", "DELETE /ai-gateway/custom-providers/:custom_provider"],
	["read", "GET /ai-gateway/gateways/:gateway/aliases"],
	["gateways-write", "POST /ai-gateway/gateways/:gateway/aliases"],
	["read", "GET /ai-gateway/gateways/:gateway/aliases/:alias"],
	["gateways-write", "PUT /ai-gateway/gateways/:gateway/aliases/:alias"],
	["gateways-write", "DELETE /ai-gateway/gateways/:gateway/aliases/:alias"],
	["read", "GET /ai-gateway/gateways/:gateway/routes"],
	["gateways-write", "POST /ai-gateway/gateways/:gateway/routes"],
	["read", "GET /ai-gateway/gateways/:gateway/routes/:route"],
	["gateways-write", "PATCH /ai-gateway/gateways/:gateway/routes/:route"],
	["gateways-write", "DELETE /ai-gateway/gateways/:gateway/routes/:route"],
	["read", "GET /ai-gateway/gateways/:gateway/routes/:route/versions"],
	["gateways-write", "POST /ai-gateway/gateways/:gateway/routes/:route/versions"],
	["read", "GET /ai-gateway/gateways/:gateway/routes/:route/versions/:version"],
	["read", "GET /ai-gateway/gateways/:gateway/routes/:route/deployments"],
	["gateways-write", "POST /ai-gateway/gateways/:gateway/routes/:route/deployments"],
	["write", "POST /ai-gateway/gateways/:gateway/cache/purge"],
	["tokens-read", "GET /tokens"],
	["tokens-write", "POST /tokens"],
	["token", "GET /tokens/verify"],
	["tokens-read", "GET /tokens/permission_groups"],
	["tokens-read", "GET /tokens/:token"],
	["tokens-write", "PUT /tokens/:token"],
	["tokens-write", "DELETE /tokens/:token"],
	["tokens-write", "PUT /tokens/:token/value"],
	["vectorize-read", "GET /vectorize/v2/indexes"],
	["vectorize-write", "POST /vectorize/v2/indexes"],
	["vectorize-read", "GET /vectorize/v2/indexes/:index"],
	["vectorize-write", "DELETE /vectorize/v2/indexes/:index"],
	["vectorize-read", "GET /vectorize/v2/indexes/:index/info"],
	["vectorize-write", "POST /vectorize/v2/indexes/:index/move"],
	["vectorize-read", "GET /vectorize/v2/indexes/:index/move"],
	["vectorize-write", "DELETE /vectorize/v2/indexes/:index/move"],
	["vectorize-write", "POST /vectorize/v2/indexes/:index/insert"],
	["vectorize-write", "POST /vectorize/v2/indexes/:index/upsert"],
	["vectorize-read", "POST /vectorize/v2/indexes/:index/query"],
	["vectorize-read", "POST /vectorize/v2/indexes/:index/get_by_ids"],
	["vectorize-write", "POST /vectorize/v2/indexes/:index/delete_by_ids"],
	["vectorize-read", "GET /vectorize/v2/indexes/:index/list"],
	["vectorize-read", "GET /vectorize/v2/indexes/:index/metadata_index/list"],
	["vectorize-write", "POST /vectorize/v2/indexes/:index/metadata_index/create"],
	["vectorize-write", "POST /vectorize/v2/indexes/:index/metadata_index/delete"],
	...RAGS,
	["search-read", "GET /ai-search/namespaces"],
	["search-write", "POST /ai-search/namespaces"],
	["search-read", "GET /ai-search/namespaces/:namespace"],
	["search-write", "PUT /ai-search/namespaces/:namespace"],
	["search-write", "DELETE /ai-search/namespaces/:namespace"],
	["search-read", "GET /ai-search/tokens"],
	["search-write", "POST /ai-search/tokens"],
	["search-read", "GET /ai-search/tokens/:token"],
	["search-write", "PUT /ai-search/tokens/:token"],
	["search-write", "DELETE /ai-search/tokens/:token"],
	["search-run", "POST /ai-search/namespaces/:namespace/search"],
	["search-run", "POST /ai-search/namespaces/:namespace/chat/completions"],
	...["/namespaces/:namespace/instances", "/instances"].flatMap((base): Row[] =>
		below(`/ai-search${base}`, SEARCH_INSTANCES),
	),
];

const providerAddresses = (base: string): Row[] =>
	["GET", "POST", "PUT", "PATCH", "DELETE"].flatMap((method): Row[] => [
		["run", `${method} ${base}/:provider/:endpoint{.+}`, "gateway"],
		["run", `${method} ${base}/:provider{fal}`, "gateway"],
		["run", `${method} ${base}/:provider{anthropic}/:endpoint{.+}`, "gateway anthropic"],
		["run", `${method} ${base}/:provider{aws-bedrock}/:endpoint{.+}`, "gateway"],
		["run", `${method} ${base}/:provider{google-ai-studio}/:endpoint{.+}`, "gateway gemini"],
		["run", `${method} ${base}/:provider{azure-openai}/:endpoint{.+}`, "gateway"],
	]);
const PROVIDER_ADDRESSES = providerAddresses("/v1/:account/:gateway");

const ROWS: readonly Row[] = [
	["none", "GET /"],
	["none", "GET /console"],
	["none", "GET /console/:path{.+}"],
	["none", "GET /docs"],
	["none", "GET /health"],
	["none", "GET /ready"],
	["none", "GET /openapi.json"],
	["read", "GET /metrics"],
	["operator", "GET /client/v4/accounts"],
	["operator", "GET /client/v4/engines"],
	["operator", "GET /client/v4/local-models"],
	["operator", "POST /client/v4/local-models"],
	["operator", "GET /client/v4/pools"],
	["operator", "GET /client/v4/pools/:backend"],
	["operator", "POST /client/v4/pools/:backend/replicas"],
	["operator", "PATCH /client/v4/pools/:backend/replicas/:replica"],
	["operator", "DELETE /client/v4/pools/:backend/replicas/:replica"],
	["operator", "GET /client/v4/usage"],
	...["/search", "/chat/completions", "/mcp", "/stats"].flatMap((path): Row[] => [
		["none", `POST /search/:account/:endpoint${path}`, "v4"],
		["none", `OPTIONS /search/:account/:endpoint${path}`, "v4"],
	]),
	["none", "GET /search/:account/:endpoint/assets/*"],
	["none", "GET /search/:account/:endpoint/mcp"],
	["none", "DELETE /search/:account/:endpoint/mcp"],
	["token", "GET /client/v4/user/tokens/verify"],
	["run", "POST /v1/:account/:gateway", "gateway"],
	["run", "GET /v1/:account/:gateway", "gateway"],
	["run", "GET /v1/:account/:gateway/run/:run/resume", "gateway"],
	...PROVIDER_ADDRESSES,
	...below("/client/v4/accounts/:account", ACCOUNT),
	...below("/client/v4/accounts/:account/ai/v1", OPENAI),
	...below("/v1", OPENAI),
	...["/client/v4/accounts/:account/ai", ""].map(
		(base): Row => ["run", `POST ${base}/openai/deployments/:deployment{.+}`, "openai"],
	),
	...["/client/v4/accounts/:account/ai/v1", "/v1"].flatMap((base) => below(base, GEMINI_METHODS)),
	...below("/client/v4/accounts/:account/ai/v1beta", GEMINI),
	...below("/v1beta", GEMINI),
];

/** The routes of the binding, which POST …/ai/run/proxy forwards to. */
const WIRE: readonly Row[] = [
	["run", "POST /run"],
	["run", "GET /run"],
	["run", "POST /ai-gateway/run"],
	["run", "GET /ai-gateway/run"],
	["read", "GET /ai-api/models/search"],
	["run", "POST /to-everything/markdown/transformer"],
	["run", "POST /websearch"],
	["read", "GET /to-everything/markdown/supported"],
	["run", "POST /ai-gateway/universal/run/:gateway"],
	["run", "GET /ai-gateway/gateways/:gateway/url/:provider"],
	["run", "GET /ai-gateway/gateways/:gateway/logs/:log"],
	["run", "PATCH /ai-gateway/gateways/:gateway/logs/:log"],
	["run", "GET /ai-gateway/gateways/:gateway/run/:run/resume"],
	...providerAddresses("/ai-gateway/gateways/:gateway"),
	["run", "POST /v1/:account/:gateway"],
	["run", "GET /v1/:account/:gateway"],
	["run", "GET /v1/:account/:gateway/run/:run/resume"],
	...PROVIDER_ADDRESSES,
	...RAGS,
];

/** The fewest groups that give the permission. */
const ENOUGH: Readonly<Record<Exclude<Needed, "none" | "operator">, string>> = {
	read: "Workers AI Metadata Read",
	run: "Workers AI Run",
	write: "Workers AI Write",
	"gateways-write": "Workers AI Write",
	"tokens-read": "Account API Tokens Read",
	"tokens-write": "Account API Tokens Write",
	"search-run": "AI Search Run",
	"search-read": "AI Search Read",
	"search-write": "AI Search Write",
	"vectorize-read": "Vectorize Read",
	"vectorize-write": "Vectorize Write",
	token: "Workers AI Run",
};

/** All groups but those that give the permission. */
const WEAK: Readonly<Record<Exclude<Needed, "none" | "token">, readonly string[]>> = {
	read: ["Workers AI Run", "Account API Tokens Read", "Account API Tokens Write"],
	run: ["Workers AI Metadata Read", "Account API Tokens Read", "Account API Tokens Write"],
	write: [
		"Workers AI Read",
		"Workers AI Run",
		"Workers AI Metadata Read",
		"Account API Tokens Read",
		"Account API Tokens Write",
	],
	"gateways-write": [
		"Workers AI Read",
		"Workers AI Run",
		"Workers AI Metadata Read",
		"Account API Tokens Read",
		"Account API Tokens Write",
	],
	"tokens-read": ["Workers AI Read", "Workers AI Write", "Workers AI Run", "Workers AI Metadata Read"],
	"tokens-write": [
		"Workers AI Read",
		"Workers AI Write",
		"Workers AI Run",
		"Workers AI Metadata Read",
		"Account API Tokens Read",
	],
	"search-run": ["Workers AI Read", "Workers AI Write", "Workers AI Run", "Vectorize Write"],
	"search-read": [
		"Workers AI Read",
		"Workers AI Write",
		"Workers AI Run",
		"Vectorize Write",
		"AI Search Run",
	],
	"search-write": ["Workers AI Write", "Account API Tokens Write", "AI Search Read", "AI Search Run"],
	"vectorize-read": ["Workers AI Read", "Workers AI Write", "Workers AI Run", "Account API Tokens Write"],
	"vectorize-write": ["Workers AI Read", "Workers AI Write", "Account API Tokens Write", "Vectorize Read"],
	operator: ["Workers AI Write", "Account API Tokens Write"],
};

const MODEL = "@cf/meta/llama-3.1-8b-instruct-fp8";

type Refusal = (status: number, message: string) => object;

/** AI Gateway's refusal of a missing or invalid token. */
const UNAUTHORIZED = {
	success: false,
	result: [],
	messages: [],
	error: [{ code: 2009, message: "Unauthorized" }],
	name: "AiGatewayError",
	httpCode: 401,
	internalCode: 2009,
	message: "Unauthorized",
	description: "Unauthorized",
};
const atGateway =
	(format: "v4" | "anthropic" | "gemini"): Refusal =>
	(status, message) =>
		status === 401 ? UNAUTHORIZED : REFUSAL[format](status, message);

const REFUSAL: Readonly<Record<Format, Refusal>> = {
	gateway: atGateway("v4"),
	"gateway anthropic": atGateway("anthropic"),
	"gateway gemini": atGateway("gemini"),
	v4: (_, message) => ({ result: null, success: false, errors: [{ code: 10000, message }], messages: [] }),
	openai: (status, message) => ({
		result: null,
		success: false,
		errors: [{ code: 10000, message }],
		messages: [],
		error: {
			message,
			type: status === 401 ? "authentication_error" : "permission_error",
			param: null,
			code: status === 401 ? "invalid_api_key" : null,
		},
	}),
	anthropic: (status, message) => ({
		type: "error",
		error: { type: status === 401 ? "authentication_error" : "permission_error", message },
		request_id: expect.stringMatching(/^[\w-]{36}$/),
	}),
	gemini: (code, message) => ({
		error: { code, message, status: code === 401 ? "UNAUTHENTICATED" : "PERMISSION_DENIED" },
	}),
};

const NO_PERMISSION = expect.stringMatching(/^Authentication error: the token needs the permission group /);

describe("every route", () => {
	const { account, app, send, createToken } = closedGateway();
	const weak = new Map<Needed, string>();
	const enough = new Map<Needed, string>([["operator", ADMIN]]);
	beforeAll(async () => {
		for (const [needed, groups] of Object.entries(WEAK))
			weak.set(needed as Needed, await createToken(groups));
		for (const [needed, group] of Object.entries(ENOUGH))
			enough.set(needed as Needed, await createToken([group]));
	});

	/** The path of a route's pattern. */
	const concrete = (path: string, model = MODEL): string =>
		path
			.replace(":account", account)
			.replace(":run/", `${"0".repeat(64)}/`)
			.replace(":model{.+}", model)
			.replace(/:\w+\{(?:\.\+)?\}/g, "x")
			.replace(/:\w+\{([\w-]+)[^}]*\}/g, "$1")
			.replace(/:\w+(?:\{[^}]+\})?/g, (name) =>
				name.startsWith(":call{") ? `${model}:generateContent` : "x",
			);

	const sendTo = (
		route: string,
		token: string | undefined,
		{ body = {}, account: other }: { body?: RequestInit; account?: string } = {},
	): Promise<Response> => {
		const [method = "", path = ""] = route.split(" ");
		const isSocket = route.startsWith("GET /client") && path.endsWith("/run/:model{.+}");
		const gemini = path.includes("/v1beta/") && method === "POST";
		const model = isSocket ? "@cf/deepgram/flux" : gemini ? `${MODEL}:generateContent` : MODEL;
		const init = method === "GET" ? {} : body;
		const headers = { ...init.headers, ...(isSocket && !other && { upgrade: "websocket" }) };
		const url = concrete(path, model).replace(account, other ?? account);
		return send(`http://gateway${url}`, token, { ...init, method, headers });
	};

	const expectRefusal = async (response: Response, format: Format, status: number, message: unknown) => {
		expect(await response.json()).toEqual(REFUSAL[format](status, message as string));
		expect(response.status).toBe(status);
	};

	const described = (routes: readonly { method: string; path: string; permission: string }[]): string[] =>
		routes.map(({ method, path, permission }) => `${permission}: ${method} ${path}`).sort();
	const expected = (rows: readonly Row[]): string[] =>
		rows.map(([needed, route]) => `${needed}: ${route}`).sort();

	it("is in this list with its permission", () => {
		expect(described(ROUTES)).toEqual(expected(ROWS));
		expect(described(wireRoutes)).toEqual(expected(WIRE));
	});

	it("has a summary and a tag, and is lazy only if it needs the permission run", () => {
		for (const { method, path, summary, tag, lazy, permission } of [...ROUTES, ...wireRoutes]) {
			expect(summary, `${method} ${path}`).toMatch(/^[A-Z]/);
			expect(tag, `${method} ${path}`).toMatch(/^[A-Z]/);
			if (lazy) expect(permission, `${method} ${path}`).toBe("run");
		}
	});

	it("is declared: no other handler is mounted", () => {
		const { services } = closedGateway();
		const mounted = (routes: { method: string; path: string }[]): string[] =>
			[...new Set(routes.map(({ method, path }) => `${method} ${path}`))].sort();
		const declared = (routes: typeof ROUTES): string[] =>
			routes.flatMap(({ method, path }) => [`${method} ${path}`, `ALL ${path}`]);
		// HEAD, which Hono routes as GET.
		const ai = "/client/v4/accounts/:account/ai";
		const heads = ["/", "/v1", "/v1beta", ai, `${ai}/v1`, `${ai}/v1beta`];
		const unknown = UNKNOWN_PATHS.map(({ path }) => `ALL ${path.replace(/^\*$/, "/*")}`);
		expect(mounted(app.routes)).toEqual(
			[...new Set([...heads.map((path) => `GET ${path}`), ...declared(ROUTES), ...unknown])].sort(),
		);
		expect(mounted(wireOf(services).routes)).toEqual(
			[...new Set([...declared(wireRoutes), "ALL /*"])].sort(),
		);
	});

	it.each(ROWS)("needs the permission %s: %s", async (needed, route, format = "v4") => {
		if (needed === "none") {
			// A public endpoint does not tell which accounts exist.
			expect((await sendTo(route, undefined)).status).toBe(route.includes("/search/:account") ? 404 : 200);
			return;
		}
		// One fails before the model is known, and one reaches admission.
		const bodies = [{ body: "{" }, json("", { model: MODEL })];
		// A GET request has no body.
		for (const body of route.startsWith("GET ") ? [{}] : bodies) {
			const unauthorized = UNAUTHENTICATED;
			await expectRefusal(await sendTo(route, undefined, { body }), format, 401, unauthorized);
			await expectRefusal(await sendTo(route, "sk-no-token", { body }), format, 401, unauthorized);
			const invented = await sendTo(route, newTokenText(account), { body });
			if (needed === "operator") {
				const message = "Authentication error: only the operator's token may call this route";
				await expectRefusal(invented, format, 403, message);
				await expectRefusal(await sendTo(route, weak.get(needed), { body }), format, 403, message);
				continue;
			}
			await expectRefusal(invented, format, 401, unauthorized);
			if (route.includes(":account"))
				await expectRefusal(
					await sendTo(route, newTokenText("other"), { body }),
					format,
					403,
					`Authentication error: the token is for another account than "${account}", which the address names`,
				);
			if (needed === "token") continue;
			await expectRefusal(await sendTo(route, weak.get(needed), { body }), format, 403, NO_PERMISSION);
		}
	});

	it.each(ROWS.filter(([needed]) => needed !== "none"))(
		"accepts the permission %s: %s",
		async (needed, route) => {
			const [method = "", path = ""] = route.split(" ");
			// Not a websocket, which a route for one refuses with 405.
			// The other cases need the tokens of their account.
			const deleted =
				route === "DELETE /client/v4/accounts/:account/ai/data" ? `${account}-deleted` : account;
			const url = `http://gateway${concrete(path).replace(account, deleted)}`;
			const body = method === "GET" ? { method } : json(method, {});
			const { status } = await send(url, enough.get(needed), body);
			expect([200, 400, 402, 404, 405, 426]).toContain(status);
		},
	);

	it.each(WIRE)("of the binding needs the permission %s: %s", async (needed, route) => {
		const [method = "", path = ""] = route.split(" ");
		const carry = (token: string | undefined): Promise<Response> => {
			const headers = { "x-forwarded": `https://workers-binding.ai${concrete(path)}?version=3` };
			return send("/ai/run/proxy", token, { method, headers, ...(method !== "GET" && { body: "{}" }) });
		};
		expect((await carry(undefined)).status).toBe(401);
		expect((await carry(newTokenText(account))).status).toBe(401);
		expect((await carry(weak.get(needed))).status).toBe(403);
		expect([200, 400, 402, 404, 405]).toContain((await carry(enough.get(needed))).status);
	});
});

describe("a path", () => {
	const { account, send } = closedGateway();
	const ai = `/client/v4/accounts/${account}/ai`;
	const tokens = `/client/v4/accounts/${account}/tokens`;

	it.each([
		// The pattern `/tokens/:token` fits, too, and comes later.
		["DELETE", `${tokens}/verify`, "v4"],
		["PATCH", `${ai}/models/search`, "v4"],
		["HEAD", `${ai}/tomarkdown`, undefined],
		["POST", "/health", "v4"],
		["POST", "/client/v4/accounts", "v4"],
		["GET", "/v1/chat/completions", "openai"],
		["GET", `${ai}/v1/chat/completions`, "openai"],
		["PUT", "/v1/v1/messages", "anthropic"],
		["DELETE", "/v1beta/models", "gemini"],
		["GET", `${ai}/run`, "v4"],
		["PUT", `/v1/${account}/mine`, "v4"],
	])("refuses the method %s before the token is verified: %s", async (method, path, format) => {
		const response = await send(`http://gateway${path}`, newTokenText(account), { method });
		expect(response.status).toBe(405);
		const text = await response.text();
		if (format === undefined) return expect(text).toBe("");
		const body: { errors?: unknown; error?: { message: string }; type?: string } = JSON.parse(text);
		const message = `${method} not supported for requested URI.`;
		if (format === "v4" || format === "openai") expect(body.errors).toEqual([{ code: 7001, message }]);
		expect(body.error?.message).toBe(format === "v4" ? undefined : message);
		expect(body.type).toBe(format === "anthropic" ? "error" : undefined);
	});

	it("answers HEAD as GET without the body", async () => {
		const response = await send(`http://gateway${ai}/models/search`, ADMIN, { method: "HEAD" });
		expect(response.status).toBe(200);
		expect(await response.text()).toBe("");
	});

	it.each(["@cf/meta/llama-3.1-8b-instruct-fp8", "@cf%2Fmeta%2Fllama-3.1-8b-instruct-fp8"])(
		"accepts an encoded model id: %s",
		async (model) => {
			const response = await send(`http://gateway${ai}/v1/models/${model}`, ADMIN);
			expect(await response.json()).toMatchObject({ id: MODEL });
		},
	);
});

describe("a path without a route", () => {
	const { account, send } = closedGateway();
	const ai = `/client/v4/accounts/${account}/ai`;

	it.each([
		["/nothing", "v4"],
		["/client/v4", "v4"],
		[`${ai}/nothing`, "v4"],
		[`${ai}/v1`, "openai"],
		[`${ai}/v1/nothing`, "openai"],
		["/v1beta/nothing", "gemini"],
		[`${ai}/v1beta`, "gemini"],
	] as const)("%s is refused as %s", async (path, format) => {
		const refused = await send(`http://gateway${path}`);
		expect(refused.status).toBe(401);
		expect(await refused.json()).toEqual(REFUSAL[format](401, UNAUTHENTICATED));
		for (const method of ["GET", "PATCH"]) {
			const response = await send(`http://gateway${path}`, ADMIN, { method });
			expect(response.status).toBe(format === "gemini" ? 404 : 400);
			const { errors, error } = await response.json<{ errors?: unknown; error?: { message: string } }>();
			if (format !== "gemini") expect(errors).toEqual([{ code: 7000, message: "No route for that URI" }]);
			expect(error?.message).toBe(format === "v4" ? undefined : "No route for that URI");
		}
	});

	it("below /v1, where AI Gateway has addresses too, is refused as OpenAI's until the credential is accepted, and then as v4", async () => {
		const refused = await send("http://gateway/v1/nothing");
		expect(refused.status).toBe(401);
		expect(await refused.json()).toEqual(REFUSAL.openai(401, UNAUTHENTICATED));
		const response = await send("http://gateway/v1/nothing", ADMIN);
		expect(response.status).toBe(400);
		expect(await response.json()).toEqual({
			...{ result: null, success: false, messages: [] },
			errors: [{ code: 7000, message: "No route for that URI" }],
		});
	});
});
