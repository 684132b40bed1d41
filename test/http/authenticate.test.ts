import fc from "fast-check";
import { Hono } from "hono";
import { describe, expect, it, vi } from "vitest";
import type { Credential, Permission } from "../../src/accounts/admission.ts";
import { PERMISSION_GROUPS } from "../../src/accounts/token-policy.ts";
import { digest, hexadecimal, newTokenText } from "../../src/accounts/token-text.ts";
import { createApp } from "../../src/app.ts";
import { AiError } from "../../src/core/errors.ts";
import { Authenticator } from "../../src/http/authenticate.ts";
import type { Access } from "../../src/http/credentials.ts";
import { openAiFailure, v4Failure } from "../../src/http/failure-formats.ts";
import { mountRoutes } from "../../src/http/mount-routes.ts";
import { defineRoutes } from "../../src/http/route.ts";
import { ROUTES } from "../../src/surfaces/routes.ts";
import type { AppServices } from "../../src/surfaces/services.ts";
import { testServices } from "../gateway.ts";
import { ADMIN, closedGateway, failureOf, json, tokenBody, UNAUTHENTICATED, V4 } from "./access.ts";

const REFUSED = `{"result":null,"success":false,"errors":[{"code":10000,"message":"${UNAUTHENTICATED}"}],"messages":[]}`;
const REFUSED_OPENAI = REFUSED.replace(
	/}$/,
	`,"error":{"message":"${UNAUTHENTICATED}","type":"authentication_error","param":null,"code":"invalid_api_key"}}`,
);
const SEARCH = `${V4}/accounts/local/ai/models/search`;
const CHAT = `${V4}/accounts/local/ai/v1/chat/completions`;

interface Verification {
	account: string;
	credential: Credential;
	permission: Permission;
}

const echo = {
	summary: "Shows the caller",
	handler: (_: unknown, { caller }: { caller: object }) => Response.json(caller),
};
const AI_ROUTES = defineRoutes(
	{ bases: [{ path: "/client/v4/accounts/:account/ai" }], tag: "Test", failure: v4Failure },
	[
		{ ...echo, method: "GET", path: "/models/search", permission: "read" },
		{ ...echo, method: "POST", path: "/v1/chat/completions", permission: "run", lazy: true },
		{ ...echo, method: "GET", path: "/v1/chat/completions", permission: "run" },
	],
);

/** Below a path without an account. */
const OWN_ROUTES = defineRoutes(
	{ bases: [{ path: "/own", account: "token" }], tag: "Test", failure: v4Failure },
	[{ ...echo, method: "GET", path: "/models/search", permission: "read" }],
);

/** A gateway whose routes show their caller. `validHashes`: hashes of tokens with every permission. */
function echoGateway(access: Access, validHashes: readonly string[] = [], accounts: readonly string[] = []) {
	const verifications: Verification[] = [];
	const ledgers = {
		of: (account: string) => ({
			verify: async (credential: Credential, permission: Permission) => {
				verifications.push({ account, credential, permission });
				if (credential.kind === "token" && !validHashes.includes(credential.hash))
					throw new AiError("authentication");
			},
		}),
	};
	const app = new Hono({ strict: false });
	const directory = {
		list: async ({ limit }: { limit: number }) => ({
			accounts: accounts.slice(0, limit).map((id) => ({ id, recordedAt: 0 })),
		}),
	};
	const services = {
		ledgers,
		directory,
		now: () => 0,
		uuid: () => "",
		log: () => {},
	} as unknown as AppServices;
	mountRoutes(
		app,
		{ routes: [...AI_ROUTES, ...OWN_ROUTES], unknown: [] },
		{ services, authentication: new Authenticator(access, services) },
	);
	const send = async (url: string, authorization?: string, method = "GET") =>
		app.request(url, { method, headers: authorization === undefined ? {} : { authorization } });
	return { send, verifications };
}

const hashOf = async (text: string) => hexadecimal(await digest(text));

describe("a deployment without ADMIN_TOKEN", () => {
	it("logs once that no ADMIN_TOKEN is set", async () => {
		const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
		const fresh = echoGateway({ allowAnonymous: false });
		for (const header of [undefined, "Bearer x", "Bearer y"])
			expect((await fresh.send(SEARCH, header)).status).toBe(401);
		expect(warn.mock.calls).toEqual([
			[expect.stringMatching(/No ADMIN_TOKEN is set.*: set that secret \(docs\/accounts\.md\)$/)],
		]);
		await echoGateway({ allowAnonymous: false, adminToken: ADMIN }).send(SEARCH);
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
	])("is refused without a call of the account: %s", async (_, authorization) => {
		const { send, verifications } = echoGateway({ allowAnonymous: false, adminToken: ADMIN });
		for (const url of [SEARCH, CHAT]) {
			const response = await send(url, authorization);
			expect(response.status).toBe(401);
			const reason = ": the header `authorization` has no `Bearer` before the token";
			const { message } = (await response.json<{ errors: { message: string }[] }>()).errors[0] ?? {};
			const sentScheme = authorization?.startsWith("Basic");
			expect(message).toBe(
				sentScheme
					? `Authentication error: no valid token${reason} (docs/accounts.md#tokens)`
					: UNAUTHENTICATED,
			);
		}
		expect(verifications).toEqual([]);
	});

	it("is not read from the headers of global API keys, of Anthropic or of AI Gateway", async () => {
		const app = createApp(testServices(), { allowAnonymous: false, adminToken: ADMIN });
		for (const headers of [
			{ "x-auth-key": ADMIN, "x-auth-email": "a@b.c" },
			{ "x-api-key": ADMIN },
			{ "cf-aig-authorization": `Bearer ${ADMIN}` },
		] as Record<string, string>[])
			expect((await app.request(SEARCH, { headers })).status).toBe(401);
	});

	it("of the operator is valid for every account, without a call of the account", async () => {
		const { send, verifications } = echoGateway({ allowAnonymous: false, adminToken: ADMIN });
		for (const account of ["local", "other"]) {
			const response = await send(SEARCH.replace("local", account), `bearer  ${ADMIN}`);
			expect(await response.json()).toEqual({
				account,
				credential: { kind: "operator" },
				verified: true,
			});
		}
		expect(verifications).toEqual([]);
	});

	it("is verified once, by its hash", async () => {
		const hash = await hashOf(token);
		const { send, verifications } = echoGateway({ allowAnonymous: false }, [hash]);
		const credential = { kind: "token", hash };
		expect(await (await send(SEARCH, `Bearer ${token}`)).json()).toEqual({
			account: "local",
			credential,
			verified: true,
		});
		expect(verifications).toEqual([{ account: "local", credential, permission: "read" }]);
	});

	it("is not verified here if the route's own call verifies it", async () => {
		const { send, verifications } = echoGateway({ allowAnonymous: false });
		const response = await send(CHAT, `Bearer ${token}`, "POST");
		expect(await response.json()).toEqual({
			account: "local",
			credential: { kind: "token", hash: await hashOf(token) },
		});
		expect(verifications).toEqual([]);
	});

	it("is refused for another account, without a call of the account", async () => {
		const { send, verifications } = echoGateway({ allowAnonymous: false });
		for (const url of [SEARCH, CHAT])
			expect(await failureOf(await send(url.replace("local", "other"), `Bearer ${token}`))).toBe(
				'403 10000: Authentication error: the token is for another account than "other", which the address names',
			);
		expect(verifications).toEqual([]);
	});

	it("of an account with underscores is not valid for an account with a prefix of its name", async () => {
		const { send } = echoGateway({ allowAnonymous: false });
		const sly = newTokenText("local_x");
		expect((await send(CHAT, `Bearer ${sly}`, "POST")).status).toBe(403);
	});

	it.each([undefined, "Bearer sk-placeholder", `Bearer ${newTokenText("other")}`, "nonsense"])(
		"of any kind is accepted with ALLOW_ANONYMOUS: %s",
		async (authorization) => {
			const { send, verifications } = echoGateway({ allowAnonymous: true });
			expect(await (await send(SEARCH, authorization)).json()).toMatchObject({
				credential: { kind: "operator" },
			});
			expect(verifications).toEqual([]);
		},
	);

	it.each(["a%20b", "!!", "%20", "a".repeat(65)])(
		"is refused for an account id that cannot exist: %s",
		async (id) => {
			const { send } = echoGateway({ allowAnonymous: true });
			expect(await failureOf(await send(SEARCH.replace("local", id)))).toMatch(
				/^404 7003: Could not route to \/accounts\/.*, perhaps your object identifier is invalid\?; 7000: No route for that URI$/,
			);
		},
	);
});

describe("a path without an account", () => {
	const OWN = "http://gateway/own/models/search";
	const token = newTokenText("team-a");

	it("is the token's", async () => {
		const hash = await hashOf(token);
		const { send } = echoGateway({ allowAnonymous: false }, [hash], ["team-b"]);
		expect(await (await send(OWN, `Bearer ${token}`)).json()).toEqual({
			account: "team-a",
			credential: { kind: "token", hash },
			verified: true,
		});
	});

	it("is 'local' with ALLOW_ANONYMOUS", async () => {
		const { send } = echoGateway({ allowAnonymous: true }, [], ["team-a"]);
		expect(await (await send(OWN)).json()).toMatchObject({ account: "local" });
	});

	it("is the operator's only account", async () => {
		const { send } = echoGateway({ allowAnonymous: false, adminToken: ADMIN }, [], ["team-a"]);
		expect(await (await send(OWN, `Bearer ${ADMIN}`)).json()).toMatchObject({ account: "team-a" });
	});

	it("is the only account of callers, beside the one that pays for shadows", async () => {
		const { send } = echoGateway({ allowAnonymous: false, adminToken: ADMIN }, [], ["operator", "team-a"]);
		expect(await (await send(OWN, `Bearer ${ADMIN}`)).json()).toMatchObject({ account: "team-a" });
	});

	it.each([[[]], [["team-a", "team-b"]], [["a", "operator", "team-b"]]])(
		"names none of the operator's accounts %j",
		async (accounts) => {
			const { send } = echoGateway({ allowAnonymous: false, adminToken: ADMIN }, [], accounts);
			expect(await failureOf(await send(OWN, `Bearer ${ADMIN}`))).toContain(
				"The operator's token is good for every account: name one in the address",
			);
		},
	);
});

describe("the cache of tokens", () => {
	/** Each header that is not in the cache is hashed, and its hash is compared with the operator's. */
	async function hashesOf(test: (send: (header: string) => Promise<number>) => Promise<void>): Promise<void> {
		const compare = vi.spyOn(crypto.subtle, "timingSafeEqual");
		const { send } = echoGateway({ allowAnonymous: false, adminToken: ADMIN });
		try {
			await test(async (header) => {
				compare.mockClear();
				expect((await send(CHAT, header, "POST")).status).toBe(200);
				return compare.mock.calls.length;
			});
		} finally {
			compare.mockRestore();
		}
	}

	it("holds 20,000 tokens, and the next one clears it", () =>
		hashesOf(async (send) => {
			const headers = Array.from({ length: 20_001 }, () => `Bearer ${newTokenText("local")}`);
			for (const header of headers.slice(0, 20_000)) expect(await send(header)).toBe(1);
			const [first = "", last = "", next = ""] = [headers[0], headers[19_999], headers[20_000]];
			expect([await send(first), await send(last)]).toEqual([0, 0]);
			expect([await send(next), await send(next)]).toEqual([1, 0]);
			expect([await send(first), await send(last)]).toEqual([1, 1]);
		}));

	it("does not hold a header of more than 256 characters", () =>
		hashesOf(async (send) => {
			const token = newTokenText("local");
			const padded = (length: number) => `Bearer${" ".repeat(length - 6 - token.length)}${token}`;
			expect([await send(padded(256)), await send(padded(256))]).toEqual([1, 0]);
			expect([await send(padded(257)), await send(padded(257))]).toEqual([1, 1]);
		}));
});

const MODEL = "@cf/meta/llama-3.1-8b-instruct-fp8";
/** Every method of the paths of all routes that need a credential. */
function requestsTo(account: string): [method: string, path: string][] {
	const paths = ROUTES.filter(({ permission }) => permission !== "none").map(({ path }) =>
		path
			.replace(":account", account)
			.replace(/:model(\{[^}]+\})?/, MODEL)
			.replace(/:\w+(\{[^}]+\})?/g, (name) => (name.startsWith(":call{") ? `${MODEL}:generateContent` : "x")),
	);
	return [...new Set(paths)].flatMap((path): [string, string][] =>
		["GET", "POST", "PUT", "PATCH", "DELETE"].map((method) => [method, path]),
	);
}

/** The request is refused and discloses nothing: not authenticated, not permitted, or no such route. */
async function expectRefusal(response: Response, route: string): Promise<void> {
	const body = await response.json<Record<string, unknown> & { errors?: { code: number }[] }>();
	const context = `${route}: ${response.status} ${JSON.stringify(body)}`;
	// Anthropic's format, if the request reached the route.
	if (route.includes("/v1/messages") && body.type === "error") {
		// 405: the path does not have the method.
		expect([401, 403, 405], context).toContain(response.status);
		expect(Object.keys(body).sort(), context).toEqual(["error", "request_id", "type"]);
		return;
	}
	if (body.name === "AiGatewayError") {
		expect([response.status, body.internalCode], context).toEqual([401, 2009]);
		return;
	}
	// Google's format. Other methods of a model's path below /v1 are OpenAI's.
	if (route.includes("/v1beta/") || (body.error && !body.errors)) {
		const { error } = body as { error: { code: number } };
		expect([401, 403, 404, 405], context).toContain(error.code);
		expect(Object.keys(body), context).toEqual(["error"]);
		return;
	}
	// AI Search has an object in each failure but those of the credential.
	const hasObject = /\/(?:ai-search|autorag)\//.test(route) && ![401, 403].includes(response.status);
	expect(body, context).toMatchObject({ success: false, result: hasObject ? {} : null });
	const codes = body.errors?.map(({ code }) => code);
	if (response.status === 401 || response.status === 403) expect(codes, context).toEqual([10000]);
	else expect(codes, context).toEqual([response.status === 405 ? 7001 : 7000]);
}

describe("every route of the app", () => {
	const gateway = closedGateway();
	const { account, app, send } = gateway;
	const routes = requestsTo(account);
	const url = (path: string) => `http://gateway${path}`;

	it("refuses every credential that is not valid for it", async () => {
		const dead = async (change: object) => {
			const response = await send("/tokens", ADMIN, json("POST", tokenBody(account, ALL_GROUPS)));
			const { id, value } = (await response.json<{ result: { id: string; value: string } }>()).result;
			await send(`/tokens/${id}`, ADMIN, json("PUT", { ...tokenBody(account, ALL_GROUPS), ...change }));
			return value;
		};
		const other = await closedGateway().createToken(ALL_GROUPS);
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
					// The account of these routes is the token's.
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

	it("accepts a token that has only the permission", async () => {
		const token = await gateway.createToken(["Workers AI Metadata Read"]);
		for (const path of [
			"/ai/models/search",
			"/ai/v1/models",
			"/ai/usage",
			"/ai/usage/refused",
			"/ai/usage/vectors",
			"/ai/usage/requests",
		])
			expect((await send(path, token)).status, path).toBe(200);
		const runner = await gateway.createToken(["Workers AI Run"]);
		const run = await send(`/ai/run/${MODEL}`, runner, json("POST", { prompt: "Hi" }));
		expect(run.status).toBe(200);
	});
});

const ALL_GROUPS = PERMISSION_GROUPS.map(({ name }) => name);

describe("the route without a credential", () => {
	it("names the product", async () => {
		const { app } = closedGateway();
		expect(await (await app.request("http://gateway/")).text()).toContain("Ganglion");
	});
});

describe("an error before the credential is verified", () => {
	const token = newTokenText("local");
	const failing = (valid: boolean, admitted = false) => {
		const verified: Permission[] = [];
		const services = {
			ledgers: {
				of: () => ({
					verify: async (_: Credential, permission: Permission) => {
						verified.push(permission);
						if (!valid) throw new AiError("authentication");
					},
				}),
			},
			uuid: () => "an-id",
			log: () => {},
		} as unknown as AppServices;
		const app = new Hono();
		const routes = defineRoutes({ bases: [{ path: "/:account" }], tag: "Test", failure: openAiFailure }, [
			{
				method: "POST",
				path: "/lazy",
				summary: "Fails",
				permission: "run",
				lazy: true,
				handler: () => {
					const error = new AiError("badInput", "a secret");
					// Set by the exchange, after admission.
					if (admitted) error.exchange = { attempts: 0, isAdmitted: true, credentialVerified: true };
					throw error;
				},
			},
		]);
		const authentication = new Authenticator({ allowAnonymous: false }, services);
		mountRoutes(app, { routes, unknown: [] }, { services, authentication });
		const send = async () =>
			app.request("http://gateway/local/lazy", {
				method: "POST",
				headers: { authorization: `Bearer ${token}` },
			});
		return { send, verified };
	};

	it("is not disclosed without a valid token", async () => {
		const { send, verified } = failing(false);
		const response = await send();
		expect(response.status).toBe(401);
		expect(await response.text()).toBe(REFUSED_OPENAI);
		expect(verified).toEqual(["run"]);
	});

	it("is disclosed with a valid token, which admission may have verified", async () => {
		const { send, verified } = failing(true);
		const response = await send();
		expect(await response.json()).toMatchObject({ error: { message: "AiError: Bad input: a secret" } });
		expect(response.headers.get("x-request-id")).toBe("an-id");
		expect(verified).toEqual(["run"]);
		const admitted = failing(false, true);
		expect((await admitted.send()).status).toBe(400);
		expect(admitted.verified).toEqual([]);
	});
});
