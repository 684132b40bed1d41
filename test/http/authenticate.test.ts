import fc from "fast-check";
import { Hono } from "hono";
import { describe, expect, it, vi } from "vitest";
import type { Credential, Permission } from "../../src/accounts/admission.ts";
import { PERMISSION_GROUPS } from "../../src/accounts/token-policy.ts";
import { digest, hexadecimal, newTokenText } from "../../src/accounts/token-text.ts";
import { createApp } from "../../src/app.ts";
import { AiError, toAiError } from "../../src/core/errors.ts";
import { type Access, authenticate, callerOf, OPEN_PATHS } from "../../src/http/authenticate.ts";
import { failureEnvelope } from "../../src/http/envelope.ts";
import { isMessagesPath } from "../../src/http/messages.ts";
import { permissionTable, ROUTE_PERMISSIONS } from "../../src/http/permissions.ts";
import type { Services } from "../../src/pipeline/services.ts";
import { isOpenAiPath } from "../../src/surfaces/openai/openai.ts";
import { testServices } from "../gateway.ts";
import { ADMIN, closedGateway, failureOf, json, tokenBody, V4 } from "./access.ts";

const REFUSED =
	'{"result":null,"success":false,"errors":[{"code":10000,"message":"Authentication error"}],"messages":[]}';
const REFUSED_OPENAI = REFUSED.replace(
	/}$/,
	',"error":{"message":"Authentication error","type":"authentication_error","param":null,"code":"invalid_api_key"}}',
);
const SEARCH = `${V4}/accounts/local/ai/models/search`;
const CHAT = `${V4}/accounts/local/ai/v1/chat/completions`;

interface Asked {
	account: string;
	credential: Credential;
	permission: Permission;
}

/** The middleware before routes that tell who called. `knows`: hashes of tokens that may do everything. */
function door(access: Access, knows: readonly string[] = []) {
	const asked: Asked[] = [];
	const ledgers = {
		of: (account: string) => ({
			verify: async (credential: Credential, permission: Permission) => {
				asked.push({ account, credential, permission });
				if (credential.kind === "token" && !knows.includes(credential.hash))
					throw new AiError("authentication");
			},
		}),
	};
	const app = new Hono({ strict: false });
	const directory = { list: async () => ({ accounts: [] }) };
	app.use(authenticate(access, { ledgers, directory, now: () => 0 } as unknown as Services));
	app.all("/client/v4/accounts/:account/*", (c) => c.json(callerOf(c)));
	app.onError((error) => failureEnvelope(toAiError(error), ""));
	const ask = async (url: string, authorization?: string, method = "GET") =>
		app.request(url, { method, headers: authorization === undefined ? {} : { authorization } });
	return { ask, asked };
}

const hashOf = async (text: string) => hexadecimal(await digest(text));

describe("a deployment that nobody can be let into yet", () => {
	it("says so in its log, once, and only where no ADMIN_TOKEN is set", async () => {
		const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
		const fresh = door({ allowAnonymous: false });
		for (const header of [undefined, "Bearer x", "Bearer y"])
			expect((await fresh.ask(SEARCH, header)).status).toBe(401);
		expect(warn.mock.calls).toEqual([
			[expect.stringMatching(/No ADMIN_TOKEN is set.*: set that secret \(docs\/accounts\.md\)$/)],
		]);
		await door({ allowAnonymous: false, adminToken: ADMIN }).ask(SEARCH);
		expect(warn).toHaveBeenCalledTimes(1);
		warn.mockRestore();
	});
});

describe("a credential", () => {
	const token = newTokenText("local");

	it.each([
		["none", undefined],
		["empty", ""],
		["another scheme", `Basic ${token}`],
		["no text", "Bearer"],
		["two", `Bearer ${token}, Bearer ${token}`],
		["any text", "Bearer sk-local"],
		["a text that is almost a token", `Bearer ${token.slice(0, -1)}`],
		["almost the operator's", `Bearer ${ADMIN}x`],
		["the operator's, shorter", `Bearer ${ADMIN.slice(0, -1)}`],
	])("is refused without asking anybody: %s", async (_, authorization) => {
		const { ask, asked } = door({ allowAnonymous: false, adminToken: ADMIN });
		for (const url of [SEARCH, CHAT]) {
			const response = await ask(url, authorization);
			expect(response.status).toBe(401);
			expect(await response.text()).toBe(REFUSED);
		}
		expect(asked).toEqual([]);
	});

	it("is no key of Cloudflare's or of a gateway", async () => {
		const app = createApp(testServices(), { allowAnonymous: false, adminToken: ADMIN });
		for (const headers of [
			{ "x-auth-key": ADMIN, "x-auth-email": "a@b.c" },
			{ "x-api-key": ADMIN },
			{ "cf-aig-authorization": `Bearer ${ADMIN}` },
		] as Record<string, string>[])
			expect((await app.request(SEARCH, { headers })).status).toBe(401);
	});

	it("is the operator's, for every account, without asking anybody", async () => {
		const { ask, asked } = door({ allowAnonymous: false, adminToken: ADMIN });
		for (const account of ["local", "other"]) {
			const response = await ask(SEARCH.replace("local", account), `bearer  ${ADMIN}`);
			expect(await response.json()).toEqual({
				account,
				credential: { kind: "operator" },
				known: true,
			});
		}
		expect(asked).toEqual([]);
	});

	it("is asked about once, by its hash", async () => {
		const hash = await hashOf(token);
		const { ask, asked } = door({ allowAnonymous: false }, [hash]);
		const credential = { kind: "token", hash };
		expect(await (await ask(SEARCH, `Bearer ${token}`)).json()).toEqual({
			account: "local",
			credential,
			known: true,
		});
		expect(asked).toEqual([{ account: "local", credential, permission: "read" }]);
	});

	it("is not asked about where the route's own call does", async () => {
		const { ask, asked } = door({ allowAnonymous: false });
		const response = await ask(CHAT, `Bearer ${token}`, "POST");
		expect(await response.json()).toEqual({
			account: "local",
			credential: { kind: "token", hash: await hashOf(token) },
		});
		expect(asked).toEqual([]);
	});

	it("opens no account but its own, and nobody is asked", async () => {
		const { ask, asked } = door({ allowAnonymous: false });
		for (const url of [SEARCH, CHAT])
			expect(await failureOf(await ask(url.replace("local", "other"), `Bearer ${token}`))).toBe(
				"403 10000: Authentication error: the token is for another account",
			);
		expect(asked).toEqual([]);
	});

	it("of an account with underscores is not one of a shorter name", async () => {
		const { ask } = door({ allowAnonymous: false });
		const sly = newTokenText("local_x");
		expect((await ask(CHAT, `Bearer ${sly}`, "POST")).status).toBe(403);
	});

	it.each([undefined, "Bearer sk-placeholder", `Bearer ${newTokenText("other")}`, "nonsense"])(
		"of any kind will do with ALLOW_ANONYMOUS: %s",
		async (authorization) => {
			const { ask, asked } = door({ allowAnonymous: true });
			expect(await (await ask(SEARCH, authorization)).json()).toMatchObject({
				credential: { kind: "operator" },
			});
			expect(asked).toEqual([]);
		},
	);

	it.each(["a%20b", "!!", "%20", "a".repeat(65)])(
		"is not for an account that cannot be one: %s",
		async (id) => {
			const { ask } = door({ allowAnonymous: true });
			expect(await failureOf(await ask(SEARCH.replace("local", id)))).toMatch(
				/^404 7003: Could not route to \/accounts\/.*, perhaps your object identifier is invalid\?; 7000: No route for that URI$/,
			);
		},
	);
});

describe("the cache of tokens", () => {
	/** Each header that is not in the cache is hashed, and its hash is compared with the operator's. */
	async function hashesOf(test: (send: (header: string) => Promise<number>) => Promise<void>): Promise<void> {
		const compare = vi.spyOn(crypto.subtle, "timingSafeEqual");
		const { ask } = door({ allowAnonymous: false, adminToken: ADMIN });
		try {
			await test(async (header) => {
				compare.mockClear();
				expect((await ask(CHAT, header, "POST")).status).toBe(200);
				return compare.mock.calls.length;
			});
		} finally {
			compare.mockRestore();
		}
	}

	it("holds 1,000 tokens, and is emptied by the next one", () =>
		hashesOf(async (send) => {
			const headers = Array.from({ length: 1_001 }, () => `Bearer ${newTokenText("local")}`);
			for (const header of headers.slice(0, 1_000)) expect(await send(header)).toBe(1);
			const [first = "", last = "", next = ""] = [headers[0], headers[999], headers[1_000]];
			expect([await send(first), await send(last)]).toEqual([0, 0]);
			expect([await send(next), await send(next)]).toEqual([1, 0]);
			expect([await send(first), await send(last)]).toEqual([1, 1]);
		}));

	it("holds no header of more than 256 characters", () =>
		hashesOf(async (send) => {
			const token = newTokenText("local");
			const padded = (length: number) => `Bearer${" ".repeat(length - 6 - token.length)}${token}`;
			expect([await send(padded(256)), await send(padded(256))]).toEqual([1, 0]);
			expect([await send(padded(257)), await send(padded(257))]).toEqual([1, 1]);
		}));
});

describe("the table of permissions", () => {
	const match = permissionTable();
	const ai = "/client/v4/accounts/local/ai";

	it.each([
		["POST", `${ai}/run/@cf/meta/llama-3.1-8b-instruct`, "deferred"],
		["POST", `${ai}/run/@cf%2Fmeta%2Fllama-3.1-8b-instruct`, "deferred"],
		["POST", `${ai}/run/proxy`, "deferred"],
		["POST", `${ai}/v1/chat/completions`, "deferred"],
		["POST", `${ai}/v1/messages`, "deferred"],
		["POST", `${ai}/v1/messages/count_tokens`, "deferred"],
		["POST", `${ai}/v1/v1/messages/count_tokens`, "deferred"],
		["POST", `${ai}/explain/@cf/meta/llama-3.1-8b-instruct`, "read"],
		["POST", `${ai}/tomarkdown`, "deferred"],
		["HEAD", `${ai}/models/search`, "read"],
		["GET", `${ai}/v1/models/@cf/meta/llama-3.1-8b-instruct`, "read"],
		["GET", `${ai}/finetunes`, "read"],
		["POST", `${ai}/finetunes`, "write"],
		["GET", `${ai}/usage`, "read"],
		["DELETE", "/client/v4/accounts/local/tokens/abc", "tokens-write"],
		["GET", "/client/v4/accounts/local/tokens/verify", "deferred"],
		["DELETE", "/client/v4/accounts/local/tokens/verify", undefined],
		["PATCH", `${ai}/models/search`, undefined],
	])("%s %s", (method, path, requirement) => {
		expect(match(method, path)).toEqual({ account: "local", ...(requirement && { requirement }) });
	});

	it.each([
		["POST", "/v1/chat/completions", "deferred"],
		["POST", "/v1/v1/messages", "deferred"],
		["GET", "/v1/models", "read"],
		["GET", "/v1/models/@cf/meta/llama-3.1-8b-instruct", "read"],
		["GET", "/v1/chat/completions", undefined],
	])("%s %s, which names no account", (method, path, requirement) => {
		expect(match(method, path)).toEqual(requirement ? { requirement } : {});
	});

	it("denies what it does not name", () => {
		for (const path of ["/nothing", `${ai}/nothing`, "/client/v4/accounts/local", `${ai}/v1/nothing`])
			expect(match("GET", path)).toBeUndefined();
	});
});

const MODEL = "@cf/meta/llama-3.1-8b-instruct-fp8";
/** Every method and path of the app, and those that only middleware has. */
function routesOf(app: Hono, account: string): [method: string, path: string][] {
	const walked = app.routes.flatMap(({ method, path }): [string, string][] => {
		const concrete = path
			.replace(":account", account)
			.replace(/:model(\{[^}]+\})?/, MODEL)
			.replace(/:\w+(\{[^}]+\})?/g, "x")
			.replaceAll("*", "x");
		const methods = method === "ALL" ? ["GET", "POST", "PUT", "PATCH", "DELETE"] : [method];
		return methods.map((each) => [each, concrete]);
	});
	const unique = new Map(walked.map((route) => [route.join(" "), route]));
	return [...unique.values()].filter(([, path]) => !OPEN_PATHS.has(path));
}

/** Nothing was told, and nothing done: not known, not allowed, or no such route. */
async function expectRefusal(response: Response, route: string): Promise<void> {
	const body = await response.json<Record<string, unknown> & { errors?: { code: number }[] }>();
	const told = `${route}: ${response.status} ${JSON.stringify(body)}`;
	// Anthropic's shape, of who got as far as the route.
	if (route.includes("/v1/messages") && body.type === "error") {
		// 405: a method of Anthropic's that it has not.
		expect([401, 403, 405], told).toContain(response.status);
		expect(Object.keys(body).sort(), told).toEqual(["error", "request_id", "type"]);
		return;
	}
	// Google's shape.
	if (route.includes("/v1beta/")) {
		const { error } = body as { error: { code: number } };
		expect([401, 403, 404, 405], told).toContain(error.code);
		expect(Object.keys(body), told).toEqual(["error"]);
		return;
	}
	expect(body, told).toMatchObject({ success: false, result: null });
	const codes = body.errors?.map(({ code }) => code);
	if (response.status === 401 || response.status === 403) expect(codes, told).toEqual([10000]);
	else expect(codes, told).toEqual([response.status === 405 ? 7001 : 7000]);
}

describe("every route of the app", () => {
	const gateway = closedGateway();
	const { account, app, ask } = gateway;
	const routes = routesOf(app, account);
	const url = (path: string) => `http://gateway${path}`;

	it("has a row in the table", () => {
		const match = permissionTable();
		const named = app.routes.filter(({ method, path }) => method !== "ALL" && !OPEN_PATHS.has(path));
		expect(named.length).toBeGreaterThan(25);
		for (const { method, path } of named) {
			const concrete = routesOf({ routes: [{ method, path }] } as Hono, account)[0]?.[1] ?? "";
			expect(match(method, concrete)?.requirement, `${method} ${path}`).toBeDefined();
		}
	});

	it("refuses who sends no credential, in the same words", async () => {
		for (const [method, path] of [...routes, ["GET", "/nothing"], ["GET", "/client/v4"]] as const) {
			const response = await ask(url(path), undefined, { method });
			expect(response.status, `${method} ${path}`).toBe(401);
			if (path.includes("/v1beta/")) {
				expect(await response.json()).toEqual({
					error: { code: 401, message: "Authentication error", status: "UNAUTHENTICATED" },
				});
				continue;
			}
			if (isMessagesPath(path)) {
				expect(await response.json()).toEqual({
					type: "error",
					error: { type: "authentication_error", message: "Authentication error" },
					request_id: response.headers.get("request-id"),
				});
				continue;
			}
			expect(response.headers.has("cf-ai-req-id")).toBe(false);
			expect(await response.text()).toBe(isOpenAiPath(path) ? REFUSED_OPENAI : REFUSED);
		}
	});

	it("refuses whatever credential is not good for it", async () => {
		const dead = async (change: object) => {
			const response = await ask("/tokens", ADMIN, json("POST", tokenBody(account, ALL_GROUPS)));
			const { id, value } = (await response.json<{ result: { id: string; value: string } }>()).result;
			await ask(`/tokens/${id}`, ADMIN, json("PUT", { ...tokenBody(account, ALL_GROUPS), ...change }));
			return value;
		};
		const other = await closedGateway().give(ALL_GROUPS);
		const texts = [
			newTokenText(account),
			other,
			await dead({ expires_on: "2020-01-01T00:00:00Z" }),
			await dead({ not_before: "2099-01-01T00:00:00Z" }),
			await dead({ status: "disabled" }),
		];
		const body = fc.oneof(
			fc.constant(undefined),
			fc.string(),
			fc.json(),
			fc.constant(JSON.stringify({ model: MODEL, prompt: "Hi" })),
			fc.constant(JSON.stringify(tokenBody(account, ["Workers AI Run"]))),
		);
		await fc.assert(
			fc.asyncProperty(
				fc.constantFrom(...routes),
				fc.oneof(
					fc.constantFrom(...texts),
					fc.string(),
					fc.base64String().map((text) => `glt_${text}`),
				),
				body,
				async ([method, path], text, sent) => {
					// Of these, a token says itself which account it asks about.
					if (text === other && !path.includes(account)) return;
					const init = method === "GET" || sent === undefined ? { method } : { method, body: sent };
					let authorization: Headers;
					try {
						authorization = new Headers({ authorization: `Bearer ${text}` });
					} catch {
						return; // Not even a header.
					}
					const response = await app.request(url(path), { ...init, headers: authorization });
					await expectRefusal(response, `${method} ${path} with ${text}`);
				},
			),
			{ numRuns: 400 },
		);
	}, 60_000);

	it("lets a token in that has no more than the permission", async () => {
		const token = await gateway.give(["Workers AI Metadata Read"]);
		for (const path of [
			"/ai/models/search",
			"/ai/v1/models",
			"/ai/usage",
			"/ai/usage/refused",
			"/ai/usage/requests",
		])
			expect((await ask(path, token)).status, path).toBe(200);
		const runner = await gateway.give(["Workers AI Run"]);
		const run = await ask(`/ai/run/${MODEL}`, runner, json("POST", { prompt: "Hi" }));
		expect(run.status).toBe(200);
	});
});

const ALL_GROUPS = PERMISSION_GROUPS.map(({ name }) => name);

describe("the open path", () => {
	it("says what this is", async () => {
		const { app } = closedGateway();
		expect(await (await app.request("http://gateway/")).text()).toContain("Ganglion");
		expect([...OPEN_PATHS]).toEqual(["/", "/health", "/ready"]);
		expect(Object.keys(ROUTE_PERMISSIONS)).not.toContain("/");
	});
});
