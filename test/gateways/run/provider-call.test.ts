import { describe, expect, it } from "vitest";
import { completion, upstream } from "../../gateway.ts";
import { ADMIN, type ClosedGateway, closedGateway, json } from "../../http/access.ts";

const HOUR_MS = 3_600_000;
const HTTP = "http://gateway/v1";
const OWN = "sk-of-the-caller-0123456789";
const OPERATOR = "sk-of-the-operator-0123456789";
const STORED = "sk-stored-by-the-account-0123456789";
const PROVIDER_VARS = {
	PROVIDER_KEYS: { openai: "OPENAI_KEY", anthropic: "ANTHROPIC_KEY" },
	OPENAI_KEY: OPERATOR,
	ANTHROPIC_KEY: OPERATOR,
};
const CHAT = { model: "gpt-5", messages: [{ role: "user", content: "Hi" }] };

interface Managed {
	status: number;
	result: Record<string, unknown>;
	errors: { message: string }[];
}

interface World extends ClosedGateway {
	token: string;
	requests: Request[];
	/** A request to `/v1/{account}/mine/{path}` with the token in `cf-aig-authorization`. */
	call(path: string, init?: RequestInit): Promise<Response>;
	store(fields: object): Promise<Managed>;
	register(fields: object): Promise<Managed>;
}

async function world(
	vars: Record<string, unknown> = {},
	reply: (request: Request) => Response | Promise<Response> = () => Response.json(completion("Hello")),
): Promise<World> {
	const provider = upstream(reply);
	const gateway = closedGateway({ vars: { ...PROVIDER_VARS, ...vars }, fetch: provider.fetch });
	const { account, send, createToken } = gateway;
	const token = await createToken(["Workers AI Write"]);
	const manage = async (path: string, fields: object) => {
		const response = await send(`/ai-gateway${path}`, token, json("POST", fields));
		return { status: response.status, ...(await response.json<Omit<Managed, "status">>()) };
	};
	return {
		...gateway,
		token,
		requests: provider.requests,
		call: (path, init = {}) => {
			const headers = new Headers(init.headers);
			headers.set("cf-aig-authorization", `Bearer ${token}`);
			if (typeof init.body === "string" && !headers.has("content-type"))
				headers.set("content-type", "application/json");
			return send(`${HTTP}/${account}/mine/${path}`, undefined, { ...init, headers });
		},
		store: (fields) => manage("/gateways/mine/provider_configs", fields),
		register: (fields) => manage("/custom-providers", fields),
	};
}

const post = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
	method: "POST",
	body: JSON.stringify(body),
	headers: { "content-type": "application/json", ...headers },
});
const sentTo = async (request: Request | undefined) => ({
	url: request?.url,
	method: request?.method,
	authorization: request?.headers.get("authorization"),
	body: await request?.text(),
});

describe("a request with the caller's own key", () => {
	it("is passed on byte for byte, and its answer streams back with status and headers", async () => {
		const body = '{ "model":"gpt-5","unknown_field":1.0,\n "messages":[] }';
		const { call, requests } = await world(
			{},
			() =>
				new Response("data: 1\n\ndata: [DONE]\n\n", {
					status: 203,
					headers: { "content-type": "text/event-stream", "x-request-id": "req_1", "set-cookie": "a=b" },
				}),
		);
		const response = await call("openai/v1/chat/completions", {
			method: "POST",
			body,
			headers: {
				authorization: `Bearer ${OWN}`,
				"openai-beta": "x",
				cookie: "a=b",
				"x-forwarded-for": "1.1.1.1",
			},
		});
		expect(response.status).toBe(203);
		expect(await response.text()).toBe("data: 1\n\ndata: [DONE]\n\n");
		expect(response.headers.get("x-request-id")).toBe("req_1");
		expect(response.headers.has("set-cookie")).toBe(false);
		expect(response.headers.get("cf-aig-step")).toBe("0");
		const [request] = requests;
		expect([...(request?.headers.keys() ?? [])].sort()).toEqual([
			"authorization",
			"content-type",
			"openai-beta",
			"x-ganglion-hop",
		]);
		expect(await sentTo(request)).toEqual({
			url: "https://api.openai.com/v1/chat/completions",
			method: "POST",
			authorization: `Bearer ${OWN}`,
			body,
		});
	});

	it("may have the key in the field `authorization` of a step, which a header replaces", async () => {
		const { account, requests, send, token } = await world();
		const step = { provider: "openai", endpoint: "files", query: {}, authorization: `Bearer ${OWN}` };
		for (const headers of [{}, { Authorization: `Bearer ${STORED}` }])
			await send(`${HTTP}/${account}/mine`, token, post([{ ...step, headers }]));
		expect(requests.map(({ headers }) => headers.get("authorization"))).toEqual([
			`Bearer ${OWN}`,
			`Bearer ${STORED}`,
		]);
	});

	it("of fal's SDK, which sends its target in a header to the address of a proxy, reaches the target", async () => {
		const { call, requests, account, send, token } = await world();
		const target = "https://queue.fal.run/fal-ai/fast-sdxl/requests/1/status?logs=1";
		const headers = { authorization: "Key fal-key", "x-fal-target-url": target };
		expect((await call("fal", { method: "POST", body: '{"prompt":"a cat"}', headers })).status).toBe(200);
		expect((await call("fal", { headers })).status).toBe(200);
		const step = { provider: "fal", endpoint: "", query: {}, headers };
		expect((await send(`${HTTP}/${account}/mine`, token, post([step]))).status).toBe(200);
		expect((await call("fal/fal-ai/fast-sdxl", { headers: { authorization: "Key fal-key" } })).status).toBe(
			200,
		);
		expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
			`POST ${target}`,
			`GET ${target}`,
			`POST ${target}`,
			"GET https://fal.run/fal-ai/fast-sdxl",
		]);
		for (const request of requests) {
			expect(request.headers.get("authorization")).toBe("Key fal-key");
			expect(request.headers.has("x-fal-target-url")).toBe(false);
		}
	});

	it.each([
		"https://example.com/",
		"https://fal.run.example.com/",
		"http://fal.run/x",
		"https://a@fal.run/x",
		"//fal.run",
		"ftp:x",
	])("of fal's SDK does not reach the target %s, which is not fal's", async (target) => {
		const { call, requests } = await world();
		const headers = { authorization: "Key fal-key", "x-fal-target-url": target };
		await call("fal", { headers });
		expect(requests.map(({ url }) => new URL(url).origin)).toEqual(
			target.startsWith("//") ? ["https://fal.run"] : [],
		);
	});

	it("is refused if it opens a websocket, which is not relayed", async () => {
		const { call, requests } = await world();
		const response = await call("openai/realtime?model=gpt-realtime", { headers: { upgrade: "websocket" } });
		expect(response.status).toBe(426);
		expect(await response.text()).toContain("Websockets of providers are not relayed");
		expect(requests).toEqual([]);
	});

	it.each(["openai?model=gpt-realtime", "workers-ai/", "anthropic"])(
		"is refused at %s, where its path is missing",
		async (path) => {
			const { call, requests } = await world();
			for (const init of [{ headers: { upgrade: "websocket" } }, {}]) {
				const response = await call(path, init);
				expect(response.status).toBe(400);
				expect(await response.json()).toMatchObject({
					errors: [{ code: 7000, message: expect.stringMatching(/path of its API is missing.*websockets/) }],
				});
			}
			expect(requests).toEqual([]);
		},
	);

	it.each(["GET", "DELETE", "PUT", "PATCH", "POST"])("takes %s, with its query", async (method) => {
		const { call, requests } = await world();
		const hasBody = method === "PUT" || method === "PATCH";
		await call("openai/files/f-1?limit=2", {
			method,
			headers: { authorization: `Bearer ${OWN}` },
			...(hasBody && { body: "{}" }),
		});
		expect(await sentTo(requests[0])).toMatchObject({
			url: "https://api.openai.com/v1/files/f-1?limit=2",
			method,
			body: hasBody ? "{}" : "",
		});
	});

	it("uses the header of the provider's SDK, and refusals of the provider are unchanged", async () => {
		const refusal = { type: "error", error: { type: "authentication_error", message: "invalid x-api-key" } };
		const { call, requests } = await world({}, () => Response.json(refusal, { status: 401 }));
		const response = await call("anthropic/v1/messages", post({}, { "x-api-key": OWN }));
		expect(response.status).toBe(401);
		expect(await response.json()).toEqual(refusal);
		expect(requests[0]?.headers.get("x-api-key")).toBe(OWN);
		expect(requests[0]?.headers.has("authorization")).toBe(false);
	});

	it("of Bedrock is in the header of the API that the address has", async () => {
		const { account, call, requests, send, store, token } = await world();
		const MESSAGES = "aws-bedrock/bedrock-mantle/us-east-1/anthropic/v1/messages";
		const CONVERSE = "aws-bedrock/bedrock-runtime/us-east-1/model/m/converse";
		await call(MESSAGES, post({}, { "x-api-key": OWN }));
		await call(CONVERSE, post({}, { authorization: `Bearer ${OWN}` }));
		await store({ provider_slug: "aws-bedrock", secret: STORED });
		for (const path of [MESSAGES, CONVERSE]) await call(path, post({}));
		// Anthropic's SDK has its key in one header only.
		await send(`${HTTP}/${account}/mine/${MESSAGES}`, undefined, post({}, { "x-api-key": token }));
		const keys = requests.map(({ headers }) => [headers.get("x-api-key"), headers.get("authorization")]);
		expect(keys).toEqual([
			[OWN, null],
			[null, `Bearer ${OWN}`],
			[STORED, null],
			[null, `Bearer ${STORED}`],
			[STORED, null],
		]);
		expect(requests[0]?.url).toBe("https://bedrock-mantle.us-east-1.api.aws/anthropic/v1/messages");
	});

	it("is a step of the universal address", async () => {
		const { send, account, token, requests } = await world({}, ({ url }) =>
			url.includes("anthropic") ? new Response("overloaded", { status: 529 }) : Response.json({ ok: true }),
		);
		const step = (provider: string, endpoint: string, headers: object) => ({
			provider,
			endpoint,
			headers,
			query: CHAT,
		});
		const steps = [
			step("anthropic", "v1/messages", { "x-api-key": OWN }),
			step("openai", "responses", { Authorization: `Bearer ${OWN}`, "cf-aig-metadata": { a: 1 } }),
		];
		const response = await send(`${HTTP}/${account}/mine`, token, json("POST", steps));
		expect(response.headers.get("cf-aig-step")).toBe("1");
		expect(await response.json()).toEqual({ ok: true });
		expect(requests.map(({ url }) => url)).toEqual([
			"https://api.anthropic.com/v1/messages",
			"https://api.openai.com/v1/responses",
		]);
		expect(requests[1]?.headers.has("cf-aig-metadata")).toBe(false);
	});

	it("reaches a model of compat through the pipeline, and costs no neurons", async () => {
		const { call, requests } = await world({ PROVIDER_KEYS: {} });
		const body = { ...CHAT, model: "openai/gpt-5" };
		const response = await call("compat/chat/completions", post(body, { authorization: `Bearer ${OWN}` }));
		expect(await response.json()).toMatchObject({ model: "openai/gpt-5" });
		expect(response.headers.get("cf-ai-neurons")).toBe("0.00");
		expect(requests[0]?.headers.get("authorization")).toBe(`Bearer ${OWN}`);
	});

	it("is repeated after a network error, which is logged with the provider", async () => {
		let calls = 0;
		const { account, call, services } = await world({}, () => {
			if (++calls < 3) throw new TypeError("connection refused to 10.0.0.1");
			return Response.json({ ok: true });
		});
		const headers = { authorization: `Bearer ${OWN}`, "cf-aig-retry-delay": "0" };
		const logged: unknown[] = [];
		services.log = ({ key, place }, id) => logged.push({ key, place, id });
		const failed = await call("openai/models", { headers });
		expect(failed.status).toBe(400);
		const place = { account, gateway: "mine", provider: "openai", host: "api.openai.com" };
		const id = failed.headers.get("cf-aig-log-id");
		expect(logged).toEqual([{ key: "providerUnreachable", place, id }]);
		const text = await failed.text();
		expect(JSON.parse(text)).toMatchObject({ internalCode: 2005, name: "AiGatewayError" });
		expect(text).not.toContain("10.0.0.1");
		const repeated = await call("openai/models", { headers: { ...headers, "cf-aig-max-attempts": "2" } });
		expect(await repeated.json()).toEqual({ ok: true });
	});
});

describe("the credential of this gateway", () => {
	it.each([
		["anthropic/v1/messages", "x-api-key"],
		["aws-bedrock/bedrock-mantle/us-east-1/anthropic/v1/messages", "x-api-key"],
		["azure-openai/openai/v1/files", "api-key"],
		["google-ai-studio/v1beta/files", "x-goog-api-key"],
		[`google-ai-studio/v1beta/files?key=%20${ADMIN}`, "x-goog-api-key"],
	])("of the operator never reaches a provider from the second of two places: %s", async (path, header) => {
		const { account, send, requests, store } = await world();
		await store({ provider_slug: path.slice(0, path.indexOf("/")), secret: STORED });
		const both = { authorization: `Bearer ${ADMIN}`, [header]: ADMIN };
		await send(`${HTTP}/${account}/mine/${path}`, undefined, { headers: both });
		const [sent] = requests;
		expect(requests).toHaveLength(1);
		expect(sent?.url).not.toContain(ADMIN);
		expect([...(sent?.headers ?? [])].filter(([, value]) => value.includes(ADMIN))).toEqual([]);
		expect(sent?.headers.get(header) ?? sent?.headers.get("authorization")).toBe(STORED);
	});

	it("never reaches a provider, wherever it is", async () => {
		const { send, account, token, requests, call } = await world({
			AI_GATEWAY: { share_provider_keys: true },
		});
		const url = (path: string) => `${HTTP}/${account}/mine/${path}`;
		await send(url("openai/files"), token);
		await send(url("anthropic/v1/files"), undefined, { headers: { "x-api-key": token } });
		const azure = await send(url("azure-openai/openai/v1/files"), undefined, {
			headers: { "api-key": token },
		});
		// The gateway has no key of Azure: its own credential is no such key.
		expect(azure.status).toBe(402);
		await send(url(`google-ai-studio/v1beta/files?key=${token}&pageSize=2`));
		await call("openai/files", { headers: { authorization: `Bearer ${token}` } });
		const steps = [
			{ provider: "openai", endpoint: "files", headers: { authorization: `Bearer ${token}` }, query: {} },
		];
		await send(`${HTTP}/${account}/mine`, token, json("POST", steps));
		expect(requests.map(({ url }) => url)).toEqual([
			"https://api.openai.com/v1/files",
			"https://api.anthropic.com/v1/files",
			"https://api.openai.com/v1/files",
			"https://api.openai.com/v1/files",
		]);
		for (const request of requests) {
			const text = JSON.stringify([request.url, ...request.headers]);
			expect(text).not.toContain(token);
			expect(text).toContain(OPERATOR);
		}
	});

	it("is required, in AI Gateway's format", async () => {
		const { send, account, call, requests, token } = await world();
		const other = await world();
		const unauthorized = {
			internalCode: 2009,
			name: "AiGatewayError",
			error: [{ code: 2009, message: "Unauthorized" }],
		};
		for (const path of [
			"openai/chat/completions",
			"anthropic/v1/messages",
			"google-ai-studio/v1/models/m:x",
			"custom-a/b",
		]) {
			const response = await send(`${HTTP}/${account}/mine/${path}`, OWN, post({}));
			expect(response.status).toBe(401);
			expect(await response.json()).toMatchObject(unauthorized);
		}
		const foreign = await send(`${HTTP}/${account}/mine/openai/files`, other.token);
		expect(foreign.status).toBe(403);
		const invented = `${token.slice(0, -4)}0000`;
		const revoked = await send(`${HTTP}/${account}/mine/openai/files`, invented);
		expect([revoked.status, await revoked.json()]).toMatchObject([401, unauthorized]);
		expect(requests).toEqual([]);
		expect((await call("openai/files", { headers: { authorization: `Bearer ${OWN}` } })).status).toBe(200);
	});

	it("may be absent only if the gateway and the operator allow it", async () => {
		const settings = {
			cache_ttl: 0,
			cache_invalidate_on_update: false,
			collect_logs: false,
			rate_limiting_interval: 0,
			rate_limiting_limit: 0,
		};
		const statuses = async (vars: Record<string, unknown>) => {
			const { send, account, token, requests } = await world(vars);
			for (const [id, authentication] of [
				["open", false],
				["closed", true],
			] as const)
				await send("/ai-gateway/gateways", token, json("POST", { id, authentication, ...settings }));
			const call = (gateway: string, headers: Record<string, string>) =>
				send(`${HTTP}/${account}/${gateway}/openai/chat/completions`, undefined, post(CHAT, headers));
			const answers = [
				await call("open", { authorization: `Bearer ${OWN}` }),
				await call("open", { "cf-aig-authorization": "Bearer wrong" }),
				await call("closed", { authorization: `Bearer ${OWN}` }),
			];
			return { statuses: answers.map(({ status }) => status), requests };
		};
		expect((await statuses({})).statuses).toEqual([401, 401, 401]);
		const allowed = await statuses({ AI_GATEWAY: { allow_unauthenticated: true } });
		expect(allowed.statuses).toEqual([200, 200, 401]);
		expect(allowed.requests.map(({ headers }) => headers.get("authorization"))).toEqual([
			`Bearer ${OWN}`,
			`Bearer ${OPERATOR}`,
		]);
	});
});

describe("keys that the account stores", () => {
	it.each([
		["fal", "Key", "fal/fal-ai/fast-sdxl"],
		["deepgram", "Token", "deepgram/listen"],
	])("are used with the gateway's token where the SDK of %s has its key", async (provider, scheme, path) => {
		const { account, send, store, requests, token } = await world();
		await store({ provider_slug: provider, secret: STORED });
		const answerTo = (value: string) =>
			send(`${HTTP}/${account}/mine/${path}`, undefined, post({}, { authorization: `${scheme} ${value}` }));
		expect((await answerTo(token)).status).toBe(200);
		expect((await answerTo("not-a-token")).status).toBe(401);
		expect(requests.map(({ headers }) => headers.get("authorization"))).toEqual([`${scheme} ${STORED}`]);
	});

	it("are used without a key in the request, by alias, for models and for all endpoints", async () => {
		const { call, store, requests, send, token } = await world();
		expect(
			(await store({ provider_slug: "openai", alias: "default", secret: STORED, default_config: true }))
				.status,
		).toBe(200);
		await store({ provider_slug: "openai", alias: "second", secret: `${STORED}-2`, default_config: false });
		await store({ provider_slug: "anthropic", alias: "default", secret: STORED });
		await call("openai/files");
		await call("openai/chat/completions", post(CHAT));
		await call("openai/files", { headers: { "cf-aig-byok-alias": "second" } });
		await call("anthropic/v1/messages", post({}));
		await call("compat/chat/completions", post({ ...CHAT, model: "openai/gpt-5" }));
		for (const alias of ["default", "second"]) {
			const headers = { "cf-aig-gateway-id": "mine", "cf-aig-byok-alias": alias };
			const run = await send("/ai/run/openai/gpt-5", token, post({ messages: CHAT.messages }, headers));
			expect(run.headers.get("cf-ai-neurons")).toBe("0.00");
		}
		expect(requests.map(({ headers }) => headers.get("authorization") ?? headers.get("x-api-key"))).toEqual([
			`Bearer ${STORED}`,
			`Bearer ${STORED}`,
			`Bearer ${STORED}-2`,
			STORED,
			`Bearer ${STORED}`,
			`Bearer ${STORED}`,
			`Bearer ${STORED}-2`,
		]);
	});

	it("belong to one account and one gateway", async () => {
		const owner = await world();
		const other = await world();
		await owner.store({ provider_slug: "openai", alias: "default", secret: STORED });
		await other.call("openai/chat/completions", post(CHAT));
		const elsewhere = `${HTTP}/${owner.account}/another/openai/chat/completions`;
		await owner.send(elsewhere, owner.token, post(CHAT));
		const keys = [...other.requests, ...owner.requests].map(({ headers }) => headers.get("authorization"));
		expect(keys).toEqual([`Bearer ${OPERATOR}`, `Bearer ${OPERATOR}`]);
		const path = `${HTTP.replace("/v1", "/client/v4")}/accounts/${owner.account}/ai-gateway/gateways/mine/provider_configs`;
		expect((await owner.send(path, other.token)).status).toBe(403);
	});

	it("have aliases, which the refusal of an unknown alias lists", async () => {
		const { call, store } = await world();
		await store({ provider_slug: "openai", alias: "first", secret: STORED });
		const response = await call("openai/files", { headers: { "cf-aig-byok-alias": "none" } });
		expect(response.status).toBe(400);
		const text = await response.text();
		expect(JSON.parse(text)).toMatchObject({
			internalCode: 2040,
			description: 'No key with the alias "none" is stored for openai. Aliases: first',
		});
		expect(text).not.toContain(STORED);
	});

	it("are the only keys if the request or the gateway forbids the operator's", async () => {
		const { call, requests } = await world();
		const refused = await call("openai/chat/completions", post(CHAT, { "cf-aig-no-wholesale": "true" }));
		expect(refused.status).toBe(400);
		expect(await refused.json()).toMatchObject({ internalCode: 2040 });
		const compat = { ...CHAT, model: "openai/gpt-5" };
		expect(
			(await call("compat/chat/completions", post(compat, { "cf-aig-no-wholesale": "true" }))).status,
		).toBe(400);
		expect(requests).toEqual([]);
	});

	it("appear in no listing, error or log", async () => {
		const { store, send, token, services } = await world({}, () => {
			throw new TypeError(`no connection with ${STORED}`);
		});
		const logged: unknown[] = [];
		services.log = (error) => void logged.push(error.description);
		const { result } = await store({ provider_slug: "openai", alias: "default", secret: STORED });
		expect(result).toMatchObject({ alias: "default", provider_slug: "openai", secret_preview: "…6789" });
		const base = "/ai-gateway/gateways/mine/provider_configs";
		const listed = await (await send(base, token)).text();
		expect(JSON.parse(listed)).toMatchObject({ success: true, result: [result] });
		const failed = await send(`${HTTP}/${result.gateway_id}`, token, post([]));
		const removed = await (await send(`${base}/${result.id}`, token, { method: "DELETE" })).text();
		const after = await (await send(base, token)).json();
		expect(after).toMatchObject({ result: [] });
		for (const text of [JSON.stringify(result), listed, removed, await failed.text(), JSON.stringify(logged)])
			expect(text).not.toContain(STORED);
	});

	it.each([
		[{ rate_limit: 2, rate_limit_period: "hour" }, 3_600],
		[{ rate_limit: 2, rate_limit_period: 90 }, 90],
		[{ rate_limit: 2 }, 60],
	])("have limits of their own: %j", async (limit, seconds) => {
		const { call, store, requests, services } = await world({}, () => Response.json({ data: [] }));
		const key = { provider_slug: "openai", secret: STORED };
		const { result } = await store({ ...key, ...limit });
		// Windows of each length begin with an hour. By the machine's clock, one could end between two requests.
		const hour = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS;
		services.now = () => hour;
		expect(result).toMatchObject({ rate_limit_period: null, ...limit });
		await store({ ...key, alias: "second" });
		const statusOf = async (headers: Record<string, string> = {}) =>
			(await call("openai/v1/models", { headers })).status;
		expect([await statusOf(), await statusOf(), await statusOf()]).toEqual([200, 200, 429]);
		const refused = await call("openai/v1/models");
		expect(await refused.text()).toContain(
			`the stored key 'default' of openai has 2 requests per ${seconds}s`,
		);
		// Another key, and a request with its own, have no limit.
		expect(await statusOf({ "cf-aig-byok-alias": "second" })).toBe(200);
		expect(await statusOf({ authorization: "Bearer sk-own" })).toBe(200);
		expect(requests).toHaveLength(4);
	});

	it("are validated", async () => {
		const { store, send, token, createToken } = await world();
		for (const fields of [
			{ provider_slug: "openai" },
			{ provider_slug: "no-such-provider", secret: STORED },
			{ provider_slug: "openai", secret: "a\r\nb" },
			// Requests are not signed.
			{ provider_slug: "aws-bedrock", secret: '{"accessKeyId":"AKIA","secretAccessKey":"s"}' },
			{ provider_slug: "google-vertex-ai", secret: '{"type":"service_account"}' },
			{ provider_slug: "openai", secret: STORED, alias: "a b" },
		])
			expect((await store(fields)).status).toBe(400);
		const messageOf = async (fields: object): Promise<string> =>
			(await store({ provider_slug: "openai", ...fields })).errors[0]?.message ?? "";
		expect(await messageOf({ secret_id: "5f8d" })).toBe(
			"secret: expected the text of the key, because keys of Secrets Store (secret_id) are not read here",
		);
		expect(await messageOf({ secret: STORED, rate_limit: 5, rate_limit_period: "week" })).toBe(
			"rate_limit_period: expected seconds up to 86400, or one of: second, minute, hour, day",
		);
		const reader = await createToken(["Workers AI Read"]);
		const denied = await send("/ai-gateway/gateways/mine/provider_configs", reader, json("POST", {}));
		expect(denied.status).toBe(403);
		expect((await send("/ai-gateway/gateways/not%20valid/provider_configs", token)).status).toBe(404);
	});
});

describe("the operator's key", () => {
	it("serves only models, unless the operator shares it", async () => {
		const closed = await world();
		const refused = await closed.call("openai/files");
		expect(refused.status).toBe(402);
		// The header `authorization` alone is the credential of the gateway, so the message has the header that a key needs.
		expect(await refused.json()).toMatchObject({
			internalCode: 2021,
			message:
				"Insufficient AI Gateway credits: this endpoint of openai needs a key of the provider: in the gateway's provider_configs, or in the request together with the header cf-aig-authorization",
		});
		expect((await closed.call("openai/chat/completions", post(CHAT))).status).toBe(200);
		const shared = await world({ AI_GATEWAY: { share_provider_keys: true } });
		expect((await shared.call("openai/files")).status).toBe(200);
		expect(shared.requests[0]?.headers.get("authorization")).toBe(`Bearer ${OPERATOR}`);
	});

	it("is counted against the account's rate, like every request to a provider", async () => {
		const { call, requests } = await world({ LIMITS: { requests_per_minute: { "Provider Request": 2 } } });
		const statuses: number[] = [];
		for (let i = 0; i < 3; i++)
			statuses.push((await call("openai/files", { headers: { authorization: `Bearer ${OWN}` } })).status);
		expect(statuses).toEqual([200, 200, 429]);
		expect(requests.length).toBe(2);
	});
});

describe("custom providers", () => {
	const PROVIDER = { name: "Mine", slug: "mine", base_url: "https://ai.example.com/api/v1", enable: true };

	it("are called below their address, with their headers and the caller's or the stored key", async () => {
		const { call, register, store, requests, send, token } = await world();
		await register({ ...PROVIDER, headers: { "x-tenant": "t-1" } });
		await call("custom-mine/v2/things?x=1", { headers: { authorization: `Bearer ${OWN}` } });
		await store({ provider_slug: "custom-mine", secret: STORED });
		await call("custom-mine/things", { method: "DELETE" });
		const compat = await call("compat/chat/completions", post({ ...CHAT, model: "custom-mine/a/b" }));
		expect(await Promise.all(requests.map(sentTo))).toEqual([
			{
				url: "https://ai.example.com/api/v1/v2/things?x=1",
				method: "GET",
				authorization: `Bearer ${OWN}`,
				body: "",
			},
			{
				url: "https://ai.example.com/api/v1/things",
				method: "DELETE",
				authorization: `Bearer ${STORED}`,
				body: "",
			},
			{
				url: "https://ai.example.com/api/v1/chat/completions",
				method: "POST",
				authorization: `Bearer ${STORED}`,
				body: JSON.stringify({ ...CHAT, model: "a/b" }),
			},
		]);
		for (const { headers } of requests) expect(headers.get("x-tenant")).toBe("t-1");
		await compat.text();
		const path = `/ai-gateway/gateways/mine/logs/${compat.headers.get("cf-aig-log-id")}`;
		// The log is written after the answer.
		await expect
			.poll(async () => (await send(path, token)).json(), { timeout: 10_000 })
			.toMatchObject({ result: { provider: "custom-mine", model: "a/b" } });
	});

	it("belong to one account, and only while they are enabled", async () => {
		const owner = await world();
		const other = await world();
		const { result } = await owner.register({ ...PROVIDER, enable: false });
		expect((await owner.call("custom-mine/x")).status).toBe(400);
		const path = `/ai-gateway/custom-providers/${result.id}`;
		expect((await other.send(path, other.token)).status).toBe(404);
		expect(
			(await other.send(path, other.token, json("PATCH", { base_url: "https://evil.example" }))).status,
		).toBe(404);
		await owner.send(path, owner.token, json("PATCH", { enable: true }));
		expect((await owner.call("custom-mine/x")).status).toBe(200);
		expect((await other.call("custom-mine/x")).status).toBe(400);
		await owner.send(path, owner.token, { method: "DELETE" });
		expect((await owner.call("custom-mine/x")).status).toBe(400);
		expect(owner.requests.length).toBe(1);
	});

	it.each([
		"http://ai.example.com",
		"https://localhost:8080",
		"https://10.0.0.1/v1",
		"https://0x7f000001/",
		"https://[::1]/",
		"https://169.254.169.254/latest",
		"https://redis",
		"https://user:password@ai.example.com",
		"https://ai.example.com?x=1",
		"file:///etc/passwd",
		"https://gateway.example",
	])("may not have the address %s", async (base_url) => {
		const { register, send, token } = await world({ PUBLIC_URL: "https://gateway.example" });
		expect((await register({ ...PROVIDER, base_url })).status).toBe(400);
		const { result } = await register(PROVIDER);
		const changed = await send(
			`/ai-gateway/custom-providers/${result.id}`,
			token,
			json("PATCH", { base_url }),
		);
		expect(changed.status).toBe(400);
		expect(await changed.json()).toMatchObject({ errors: [{ code: 7001 }] });
	});

	it("may have a private address if the operator allows it, and no longer than that", async () => {
		const allowed = await world({ AI_GATEWAY: { allow_private_addresses: true } });
		await allowed.register({ ...PROVIDER, base_url: "http://10.0.0.1:8000/v1" });
		expect((await allowed.call("custom-mine/models")).status).toBe(200);
		expect(allowed.requests[0]?.url).toBe("http://10.0.0.1:8000/v1/models");
		const rules = { ...allowed.services.gatewayRules, allowPrivateAddresses: false };
		Object.assign(allowed.services, { gatewayRules: rules });
		expect((await allowed.call("custom-mine/models")).status).toBe(400);
	});

	it("use the network without private addresses", async () => {
		const { call, register, services, requests } = await world();
		const publicNetwork = upstream(() => Response.json({ ok: "public" }));
		services.publicFetch = publicNetwork.fetch;
		await register(PROVIDER);
		expect(await (await call("custom-mine/x")).json()).toEqual({ ok: "public" });
		expect(requests).toEqual([]);
	});

	it("do not follow redirects, and do not leave their address", async () => {
		const { call, register, requests } = await world({}, () =>
			Response.redirect("https://evil.example/", 302),
		);
		await register(PROVIDER);
		const response = await call("custom-mine/x");
		expect([response.status, response.headers.get("location")]).toEqual([302, "https://evil.example/"]);
		expect((await call("custom-mine/%2e%2e/%2e%2e/x")).status).not.toBe(302);
		expect(requests.length).toBe(1);
	});

	it("are listed without the values of their headers, which an update keeps", async () => {
		const { register, send, token, call, requests } = await world();
		const { result } = await register({ ...PROVIDER, headers: { "x-key": STORED } });
		expect(result).toMatchObject({ slug: "mine", headers: '{"x-key":"[redacted]"}' });
		const path = `/ai-gateway/custom-providers/${result.id}`;
		const patch = async (fields: object) => (await send(path, token, json("PATCH", fields))).text();
		const listed = await (await send("/ai-gateway/custom-providers?search=min&enable=true", token)).text();
		expect(JSON.parse(listed)).toMatchObject({ result: [{ slug: "mine" }], result_info: { total_count: 1 } });
		expect(await (await send("/ai-gateway/custom-providers?page=2", token)).json()).toMatchObject({
			result: [],
		});
		const renamed = await patch({ name: "Other", headers: { "x-key": "[redacted]" } });
		await call("custom-mine/x");
		expect(requests[0]?.headers.get("x-key")).toBe(STORED);
		const moved = await patch({ base_url: "https://other.example", headers: { "x-key": "[redacted]" } });
		await call("custom-mine/x");
		expect(requests[1]?.url).toBe("https://other.example/x");
		expect(requests[1]?.headers.has("x-key")).toBe(false);
		for (const text of [listed, renamed, moved]) expect(text).not.toContain(STORED);
	});
});

it("the operator's credential is not forwarded", async () => {
	const { send, account, requests } = await world({ AI_GATEWAY: { share_provider_keys: true } });
	await send(`${HTTP}/${account}/mine/openai/files`, ADMIN);
	expect(requests[0]?.headers.get("authorization")).toBe(`Bearer ${OPERATOR}`);
});

it("data-loss prevention reads the path, the query, the headers and the raw body of a call that is passed on", async () => {
	const { send, token, account, requests } = await world();
	const dlp = { enabled: true, action: "BLOCK", profiles: ["credit_card", "email", "api_key"] };
	const settings = {
		cache_invalidate_on_update: false,
		cache_ttl: 0,
		collect_logs: true,
		rate_limiting_interval: 0,
		rate_limiting_limit: 0,
	};
	const created = await send(
		"/ai-gateway/gateways",
		token,
		json("POST", { id: "guarded", ...settings, dlp }),
	);
	expect(created.status).toBe(200);
	const call = async (path: string, { headers, ...init }: RequestInit & { headers?: object } = {}) => {
		const keys = { "cf-aig-authorization": `Bearer ${token}`, authorization: `Bearer ${OWN}` };
		const url = `${HTTP}/${account}/guarded/openai/${path}`;
		const response = await send(url, undefined, { ...init, headers: { ...keys, ...headers } });
		return [response.status, (await response.text()).includes("2029")];
	};
	const type = { "content-type": "application/json" };
	const blocked = [400, true];
	expect(await call("files?note=ada%40corp.example")).toEqual(blocked);
	expect(await call("files/4111111111111111")).toEqual(blocked);
	expect(await call("files/ada%2540corp.example", { method: "DELETE" })).toEqual(blocked);
	expect(await call("files", { headers: { "x-note": "ada@corp.example" } })).toEqual(blocked);
	const twice = '{"input":"ada@corp.example","input":"Hi"}';
	expect(await call("moderations", { method: "POST", headers: type, body: twice })).toEqual(blocked);
	const form = new FormData();
	form.set("file", new File(["Hi"], "ada@corp.example.txt"));
	expect(await call("files", { method: "POST", body: form })).toEqual(blocked);
	expect(requests).toEqual([]);
	expect(await call("files?limit=2")).toEqual([200, false]);
	expect(await call("moderations", { method: "POST", headers: type, body: '{"input":"Hi"}' })).toEqual([
		200,
		false,
	]);
	expect(requests.length).toBe(2);
});
