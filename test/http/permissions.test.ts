import { beforeAll, describe, expect, it } from "vitest";
import { newTokenText } from "../../src/accounts/token-text.ts";
import { closedGateway, failureOf, json } from "./access.ts";

/** `valid`: any token of the account that holds. */
type Needed = "read" | "run" | "write" | "tokens-read" | "tokens-write" | "valid";

/** Below `/ai/v1` of an account, and below `/v1`. */
const OPENAI: readonly [Needed, string][] = [
	["run", "POST /chat/completions"],
	["run", "POST /completions"],
	["run", "POST /responses"],
	["run", "GET /responses"],
	["run", "POST /responses/input_tokens"],
	["run", "POST /embeddings"],
	["run", "POST /rerank"],
	["run", "POST /images/generations"],
	["run", "POST /images/edits"],
	["run", "POST /audio/speech"],
	["run", "POST /audio/transcriptions"],
	["run", "POST /audio/translations"],
	["run", "POST /messages"],
	["run", "POST /v1/messages"],
	["run", "POST /messages/count_tokens"],
	["run", "POST /v1/messages/count_tokens"],
	["read", "GET /models"],
	["read", "GET /models/:model{.+}"],
	["read", "GET /v1/models"],
	["read", "GET /v1/models/:model{.+}"],
];

/** Below `/ai/v1beta` of an account, and below `/v1beta`. */
const GEMINI: readonly [Needed, string][] = [
	["read", "GET /models"],
	["read", "GET /models/:model{.+}"],
	["run", "POST /models/:call{.+}"],
];

/** Below `/client/v4/accounts/:account`. */
const ACCOUNT: readonly [Needed, string][] = [
	["run", "POST /ai/run"],
	["run", "POST /ai/run/:model{.+}"],
	["run", "GET /ai/run/:model{.+}"],
	["read", "POST /ai/explain/v1/chat/completions"],
	["read", "POST /ai/explain/v1/completions"],
	["read", "POST /ai/explain/v1/responses"],
	["read", "POST /ai/explain/v1/messages"],
	["read", "POST /ai/explain/v1/v1/messages"],
	["read", "POST /ai/explain/v1/embeddings"],
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
	["run", "POST /ai/tomarkdown"],
	["read", "GET /ai/tomarkdown/supported"],
	["read", "GET /ai/usage"],
	["read", "GET /ai/usage/refused"],
	["read", "GET /ai/usage/requests"],
	["tokens-read", "GET /tokens"],
	["tokens-write", "POST /tokens"],
	["valid", "GET /tokens/verify"],
	["tokens-read", "GET /tokens/permission_groups"],
	["tokens-read", "GET /tokens/:token"],
	["tokens-write", "PUT /tokens/:token"],
	["tokens-write", "DELETE /tokens/:token"],
	["tokens-write", "PUT /tokens/:token/value"],
];

const below = (base: string, routes: readonly [Needed, string][]): [Needed, string][] =>
	routes.map(([needed, route]) => [needed, route.replace(" ", ` ${base}`)]);

/** For the operator's own token: no other is looked at. */
const OPERATORS = ["GET /client/v4/accounts", "GET /client/v4/usage"];

/** Every other route that is mounted for a method. */
const MOUNTED: readonly [Needed, string][] = [
	["read", "GET /metrics"],
	["valid", "GET /client/v4/user/tokens/verify"],
	["run", "POST /v1/:account/:gateway"],
	["run", "POST /v1/:account/:gateway/"],
	["run", "POST /v1/:account/:gateway/:provider/:endpoint{.+}"],
	...below("/client/v4/accounts/:account", ACCOUNT),
	...below("/client/v4/accounts/:account/ai/v1", OPENAI),
	...below("/v1", OPENAI),
	...below("/client/v4/accounts/:account/ai/v1beta", GEMINI),
	...below("/v1beta", GEMINI),
];

/** Mounted for every method, or not mounted: the permission is asked for all the same. */
const OF_ANY_METHOD: readonly [Needed, string][] = [
	...below("/client/v4/accounts/:account/ai", [
		...["GET", "POST", "PUT", "PATCH", "DELETE"].map((method): [Needed, string] => [
			"run",
			`${method} /run/proxy`,
		]),
		["read", "GET /finetunes"],
		["write", "POST /finetunes"],
		["read", "GET /finetunes/public"],
		["write", "POST /finetunes/:finetune/finetune-assets"],
	]),
	...["/client/v4/accounts/:account/ai/v1", "/v1"].flatMap((base) =>
		["/messages/batches", "/messages/batches/x", "/v1/messages/batches", "/v1/messages/batches/x"].flatMap(
			(path) =>
				["GET", "POST", "DELETE"].map((method): [Needed, string] => ["run", `${method} ${base}${path}`]),
		),
	),
];

const OPEN = ["GET /", "GET /health", "GET /ready"];

/** All groups but those that give the permission. */
const WEAK: Readonly<Record<Needed, readonly string[]>> = {
	read: ["Workers AI Run", "Account API Tokens Read", "Account API Tokens Write"],
	run: ["Workers AI Metadata Read", "Account API Tokens Read", "Account API Tokens Write"],
	write: [
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
	valid: ["Workers AI Run"],
};

const MODEL = "@cf/meta/llama-3.1-8b-instruct-fp8";

describe("every mounted route", () => {
	const { account, app, ask, give } = closedGateway();
	const weak = new Map<Needed, string>();
	beforeAll(async () => {
		for (const needed of ["read", "run", "write", "tokens-read", "tokens-write", "valid"] as const)
			weak.set(needed, await give(WEAK[needed]));
	});

	const send = (route: string, token: string | undefined, body: RequestInit): Promise<Response> => {
		const [method = "", path = ""] = route.split(" ");
		const isSocket = route.startsWith("GET /client") && path.endsWith("/run/:model{.+}");
		const concrete = path
			.replace(":account", account)
			.replace(":model{.+}", isSocket ? "@cf/deepgram/flux" : MODEL)
			.replace(":call{.+}", `${MODEL}:generateContent`)
			.replace(/:\w+(\{[^}]+\})?/g, "x");
		const init = method === "GET" ? {} : body;
		const headers = { ...init.headers, ...(isSocket && { upgrade: "websocket" }) };
		return ask(`http://gateway${concrete}`, token, { ...init, method, headers });
	};

	it("is listed here", () => {
		const mounted = app.routes
			.filter(({ method }) => method !== "ALL")
			.map(({ method, path }) => `${method} ${path}`);
		const listed = [...OPEN, ...OPERATORS, ...MOUNTED.map(([, route]) => route)];
		expect([...new Set(mounted)].sort()).toEqual(listed.sort());
	});

	it.each(OPERATORS)("is for the operator: %s", async (route) => {
		expect((await send(route, undefined, {})).status).toBe(401);
		const most = await give(["Workers AI Write", "Account API Tokens Write"]);
		for (const token of [newTokenText(account), most])
			expect(await failureOf(await send(route, token, {}))).toBe(
				"403 10000: Authentication error: only the operator's token sees all accounts",
			);
	});

	it.each([...MOUNTED, ...OF_ANY_METHOD])("is for tokens that may %s: %s", async (needed, route) => {
		for (const body of [{}, { body: "{" }, json("", { model: MODEL }), json("", [])]) {
			expect((await send(route, undefined, body)).status, "without a token").toBe(401);
			expect((await send(route, newTokenText(account), body)).status, "with a token that nobody made").toBe(
				401,
			);
			const answered = await send(route, weak.get(needed), body);
			if (needed === "valid") {
				expect(answered.status).toBe(200);
				continue;
			}
			expect(await failureOf(answered)).toMatch(
				/^403 (?:10000|permission_error|PERMISSION_DENIED): Authentication error: the token needs the permission group /,
			);
		}
	});
});
