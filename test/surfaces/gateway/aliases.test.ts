/** Aliases of a gateway and `cloudflare/auto`: their management, and requests on every surface. */
import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { wireOf } from "../../../src/surfaces/binding/binding.ts";
import { BASE, CALLER, completion, testGateway, upstream } from "../../gateway.ts";
import { GATEWAY_SETTINGS } from "./gateway-settings.ts";

const VARS = {
	OPENAI_API_KEY: "sk-openai",
	XAI_API_KEY: "xai-key",
	PROVIDER_KEYS: { openai: "OPENAI_API_KEY", xai: "XAI_API_KEY" },
};
const MESSAGES = [{ role: "user", content: "Hi" }];
const LUNA = "openai/gpt-5.6-luna";
const SOL = "openai/gpt-5.6-sol";
const GROK = "xai/grok-4.5";

/** An answer of OpenAI's Responses API. */
const responseOf = (model: string, text: string): object => ({
	id: "resp_1",
	object: "response",
	created_at: 1,
	status: "completed",
	model,
	output: [
		{
			type: "message",
			id: "msg_1",
			role: "assistant",
			status: "completed",
			content: [{ type: "output_text", text, annotations: [] }],
		},
	],
	usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
});

/** `failing`: names of models that the providers refuse. */
function world(failing: readonly string[] = []) {
	const { fetch, requests } = upstream(async (request) => {
		const { model } = await request.json<{ model: string }>();
		if (failing.includes(model)) return Response.json({ error: { message: "overloaded" } }, { status: 400 });
		const text = `from ${model}`;
		return Response.json(request.url.endsWith("/responses") ? responseOf(model, text) : completion(text));
	});
	const { app, services } = testGateway({ vars: VARS, fetch });
	const gateway = `gw-${crypto.randomUUID()}`;
	const send = async (
		address: string,
		body?: unknown,
		{ method = "POST", headers = {} }: RequestInit = {},
	): Promise<Response> =>
		app.request(address, {
			method,
			headers: { "content-type": "application/json", "cf-aig-gateway-id": gateway, ...(headers as object) },
			...(body !== undefined && { body: JSON.stringify(body) }),
		});
	const aliases = `${BASE.replace(/\/ai$/, "/ai-gateway")}/gateways/${gateway}/aliases`;
	const manage = async (method: string, path: string, body?: unknown) => {
		const response = await send(`${aliases}${path}`, body, { method });
		return {
			status: response.status,
			...(await response.json<{ result: unknown; errors: { code: number; message: string }[] }>()),
		};
	};
	const bind = async (model: string, inputs: object, options: object = {}): Promise<Response> =>
		wireOf(services).fetch(
			new Request("https://workers-binding.ai/ai-gateway/run?version=3", {
				method: "POST",
				headers: { "content-type": "application/json", "cf-consn-model-id": model },
				body: JSON.stringify({ inputs, options: { gateway: { id: gateway }, ...options } }),
			}),
			{ caller: CALLER },
		);
	return { send, manage, bind, gateway, requests, services };
}

const alias = (models: readonly string[], routing = "fallback") => ({ name: "assistant", routing, models });
const routedBy = ({ headers }: Response) => [
	headers.get("cf-aig-routed-model"),
	headers.get("cf-aig-routing-reason"),
];

describe("the management of aliases", () => {
	it("creates, lists, shows, changes and deletes them", async () => {
		const { manage } = world();
		const created = await manage("POST", "", { name: "custom/assistant", models: [SOL, GROK] });
		expect(created.result).toEqual({
			name: "assistant",
			model: "custom/assistant",
			routing: "fallback",
			models: [SOL, GROK],
			created_at: expect.any(String),
			modified_at: expect.any(String),
		});
		expect(await manage("GET", "/assistant")).toMatchObject({ result: created.result });
		expect(await manage("PUT", "/assistant", { routing: "smart", models: [LUNA] })).toMatchObject({
			result: { routing: "smart", models: [LUNA] },
		});
		expect(await manage("GET", "")).toMatchObject({
			result: [{ name: "assistant", models: [LUNA] }],
			result_info: { total_count: 1 },
		});
		expect(await manage("DELETE", "/assistant")).toMatchObject({
			status: 200,
			result: { name: "assistant" },
		});
		for (const [method, body] of [["GET"], ["DELETE"], ["PUT", { models: [] }]] as const)
			expect(await manage(method, "/assistant", body)).toMatchObject({
				...{ status: 404, errors: [{ code: 7002, message: 'Alias not found: "assistant"' }] },
			});
		await manage("POST", "", alias([SOL]));
		expect(await manage("DELETE", "/custom%2Fassitant")).toMatchObject({
			errors: [{ message: 'Alias not found: "assitant"; did you mean "assistant"?' }],
		});
	});

	it("stores an alias whose models cannot be checked, and tells so", async () => {
		const { manage, services } = world();
		services.providerAccesses.find = () => Promise.reject(new AiError("ledgerUnavailable"));
		const message = /^stored, but whether its models can be called is not known now: ./;
		const checked = { status: 200, messages: [{ code: 7001, message: expect.stringMatching(message) }] };
		expect(await manage("POST", "", alias([SOL]))).toMatchObject(checked);
		expect(await manage("PUT", "/assistant", { models: [LUNA] })).toMatchObject(checked);
		expect(await manage("GET", "/assistant")).toMatchObject({ status: 200, result: { models: [LUNA] } });
	});

	it.each<[string, readonly string[], RegExp[]]>([
		["models that are served", [SOL, "openai/any"], []],
		[
			"a misspelled model",
			[SOL, "@cf/openai/gpt-oss-12b"],
			[
				/^models\[1\]: stored, but it cannot be called now: No such model @cf.*; did you mean "@cf\/openai\/gpt-oss-/,
			],
		],
		[
			"an author without a key",
			["anthropic/claude-haiku-4.5"],
			[/^models\[0\]: stored, .*nothing is set up here for anthropic/],
		],
		[
			"an unknown author",
			["opnai/gpt-5"],
			[/^models\[0\]: stored, .*"opnai" is unknown; did you mean "openai"\?$/],
		],
		["a custom provider that is not there", ["custom-acme/x"], [/^models\[0\]: .*no custom provider acme$/]],
		["no model", [], [/^models: empty, so that requests to the alias are refused$/]],
	])("tells of %s, to create and to change", async (_, models, expected) => {
		const { manage } = world();
		const messages = expected.map((message) => ({ code: 7001, message: expect.stringMatching(message) }));
		expect(await manage("POST", "", alias(models))).toMatchObject({ status: 200, messages });
		expect(await manage("PUT", "/assistant", { models })).toMatchObject({ status: 200, messages });
	});

	it("tells nothing of a model whose key the account has stored", async () => {
		const { manage, send, gateway } = world();
		const gateways = `${BASE.replace(/\/ai$/, "/ai-gateway")}/gateways`;
		await send(gateways, { id: gateway, ...GATEWAY_SETTINGS });
		await send(`${gateways}/${gateway}/provider_configs`, {
			...{ provider_slug: "anthropic", secret: "sk-stored", alias: "default", default_config: true },
		});
		expect(await manage("POST", "", alias(["anthropic/claude-haiku-4.5"]))).toMatchObject({ messages: [] });
	});

	it.each([
		[{ name: "a/b", models: [SOL] }, "name: expected"],
		[{ name: "a" }, "models: "],
		[{ name: "a", models: ["custom/b"] }, "models[0]: expected the id of a model, not an alias"],
		[{ name: "a", models: ["dynamic/b"] }, "models[0]: "],
		[{ name: "a", models: ["cloudflare/auto"] }, "models[0]: "],
		[{ name: "a", models: [""] }, "models[0]: "],
		[{ name: "a", models: [SOL, SOL] }, "models: expected different models"],
		[{ name: "a", models: Array.from({ length: 33 }, (_, i) => `acme/m${i}`) }, "models: "],
		[{ name: "a", models: [SOL], routing: "random" }, "routing: "],
	])("refuses %j with the path of the field", async (body, message) => {
		const { manage } = world();
		const refused = await manage("POST", "", body);
		expect(refused.status).toBe(400);
		expect(refused.errors[0]?.message).toContain(message);
	});

	it("refuses a second alias of a name, and forgets those of a gateway that is deleted", async () => {
		const { manage, send, gateway } = world();
		await manage("POST", "", alias([SOL]));
		expect(await manage("POST", "", alias([GROK]))).toMatchObject({ status: 400, errors: [{ code: 7001 }] });
		const gateways = `${BASE.replace(/\/ai$/, "/ai-gateway")}/gateways`;
		const settings = {
			id: gateway,
			...GATEWAY_SETTINGS,
		};
		await send(gateways, settings);
		await send(`${gateways}/${gateway}`, undefined, { method: "DELETE" });
		expect(await manage("GET", "")).toMatchObject({ result: [] });
	});
});

describe("a request to an alias", () => {
	it.each([
		["/run/custom/assistant", { messages: MESSAGES }],
		["/run", { model: "custom/assistant", input: { messages: MESSAGES } }],
		["/v1/chat/completions", { model: "custom/assistant", messages: MESSAGES }],
		["/v1/messages", { model: "custom/assistant", max_tokens: 64, messages: MESSAGES }],
		["/v1/responses", { model: "custom/assistant", input: "Hi" }],
	])("is answered by the next model if one fails, at %s", async (path, body) => {
		const { send, manage, requests } = world(["gpt-5.6-sol"]);
		await manage("POST", "", alias([SOL, GROK, LUNA]));
		const response = await send(`${BASE}${path}`, body);
		expect(response.status).toBe(200);
		expect(routedBy(response)).toEqual([GROK, "fallback_candidate_unavailable"]);
		expect(response.headers.get("cf-aig-provider")).toBe("grok");
		expect(await response.text()).toContain("from grok-4.5");
		expect(requests.map(({ url }) => new URL(url).hostname)).toEqual(["api.openai.com", "api.x.ai"]);
	});

	it("runs through compat, a universal step and the binding", async () => {
		const { send, manage, bind, gateway } = world();
		await manage("POST", "", alias([GROK, SOL]));
		const body = { model: "custom/assistant", messages: MESSAGES };
		for (const response of [
			await send(`http://gateway/v1/local/${gateway}/compat/chat/completions`, body),
			await send(`http://gateway/v1/local/${gateway}`, [
				{ provider: "compat", endpoint: "chat/completions", query: body },
			]),
			await bind("custom/assistant", { messages: MESSAGES }),
			await bind(
				"custom/assistant",
				{ max_tokens: 64, messages: MESSAGES },
				{ openaiEndpoint: "/v1/messages" },
			),
		]) {
			expect(response.status).toBe(200);
			expect(routedBy(response)).toEqual([GROK, null]);
			expect(await response.text()).toContain("from grok-4.5");
		}
	});

	it("has the order of the request's rank if its routing is smart", async () => {
		const { send, manage } = world();
		await manage("POST", "", alias([SOL, GROK, LUNA], "smart"));
		const model = "custom/assistant";
		const small = await send(`${BASE}/v1/chat/completions`, { model, messages: MESSAGES });
		expect(routedBy(small)).toEqual([LUNA, "cost_optimal_within_pool"]);
		const large = await send(`${BASE}/v1/chat/completions`, {
			model,
			messages: MESSAGES,
			reasoning_effort: "high",
		});
		expect(routedBy(large)[0]).toBe(SOL);
	});

	it("answers with the failure of the last model", async () => {
		const { send, manage } = world(["gpt-5.6-sol", "grok-4.5"]);
		await manage("POST", "", alias([SOL, GROK]));
		const response = await send(`${BASE}/v1/chat/completions`, {
			model: "custom/assistant",
			messages: MESSAGES,
		});
		expect(response.status).toBe(400);
		expect(routedBy(response)[0]).toBe(GROK);
	});

	it("names a model that cannot be called here in a header", async () => {
		const { send, manage } = world();
		await manage("POST", "", alias(["custom-unused/qwen3-32b", LUNA]));
		const response = await send(`${BASE}/v1/chat/completions`, {
			model: "custom/assistant",
			messages: MESSAGES,
		});
		expect(response.headers.get("x-ganglion-skipped")).toBe("custom-unused/qwen3-32b");
		expect(routedBy(response)[0]).toBe(LUNA);
	});

	it("is refused with 7003 if the alias is unknown or empty", async () => {
		const { send, manage, gateway } = world();
		const ask = async () =>
			(await send(`${BASE}/v1/chat/completions`, { model: "custom/assistant", messages: MESSAGES })).json();
		expect(await ask()).toMatchObject({
			errors: [
				{
					code: 7003,
					message: `Model not found: custom/assistant (the gateway ${gateway} has no alias of this name)`,
				},
			],
		});
		await manage("POST", "", alias([]));
		expect(await ask()).toMatchObject({
			errors: [{ code: 7003, message: "Model not found: custom/assistant (has no models)" }],
		});
	});
});

describe("cloudflare/auto", () => {
	const ask = (fields: object = {}) => ({ model: "cloudflare/auto", messages: MESSAGES, ...fields });

	it("chooses among the default models that are served here, and names the choice", async () => {
		const { send, gateway } = world();
		for (const address of [
			`${BASE}/v1/chat/completions`,
			`http://gateway/v1/local/${gateway}/compat/chat/completions`,
		]) {
			const response = await send(address, ask());
			expect(routedBy(response)).toEqual([LUNA, "cost_optimal_within_pool"]);
			expect(response.headers.get("cf-aig-routing-decision-id")).toMatch(/^[0-9a-f-]{36}$/);
		}
		const responses = await send(`${BASE}/v1/responses`, {
			model: "cloudflare/auto",
			input: "Hi",
			reasoning: { effort: "high" },
		});
		expect(routedBy(responses)[0]).toBe(SOL);
	});

	it.each([
		[{ "cf-aig-allowed-models": "xai/*" }, "xai/"],
		[{ "cf-aig-allowed-models": `${SOL}, ${GROK}`, "cf-aig-excluded-models": "openai/*" }, GROK],
		[{ "cf-aig-excluded-models": "openai/*" }, GROK],
		[{ "cf-aig-allowed-providers": "grok" }, GROK],
	])("has the pool of %j", async (headers, model) => {
		const { send } = world();
		const response = await send(`${BASE}/v1/chat/completions`, ask(), { headers });
		expect(response.status).toBe(200);
		expect(routedBy(response)[0]?.startsWith(model)).toBe(true);
	});

	it.each([
		[{ "cf-aig-allowed-models": "acme/*" }],
		[{ "cf-aig-allowed-models": "*" }],
		[{ "cf-aig-allowed-models": SOL, "cf-aig-excluded-models": SOL }],
		[{ "cf-aig-allowed-providers": "anthropic" }],
		[{ "cf-aig-allowed-models": "cloudflare/auto" }],
	])("is refused if %j leaves no model", async (headers) => {
		const { send, requests } = world();
		const response = await send(`${BASE}/v1/chat/completions`, ask(), { headers });
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({
			errors: [{ code: 2008, message: expect.stringContaining("cloudflare/auto") }],
		});
		expect(requests).toEqual([]);
	});

	it("goes to the next model if one fails", async () => {
		const { send } = world(["gpt-5.6-luna"]);
		const response = await send(`${BASE}/v1/chat/completions`, ask());
		expect(response.status).toBe(200);
		expect(routedBy(response)[1]).toBe("fallback_candidate_unavailable");
	});

	it("is explained, like an alias, without a call of a model", async () => {
		const { send, manage, requests } = world();
		const explain = async (model: string) =>
			(await send(`${BASE}/explain/v1/chat/completions`, { model, messages: MESSAGES })).json();
		expect(await explain("cloudflare/auto")).toMatchObject({
			result: {
				model: "cloudflare/auto",
				pool: {
					reason: "cost_optimal_within_pool",
					tier: 1,
					unsuited: [],
					models: [{ model: LUNA, targets: [{ backend: "openai" }] }, {}, {}, {}],
				},
			},
		});
		await manage("POST", "", alias([GROK, "custom-unused/qwen3-32b"]));
		expect(await explain("custom/assistant")).toMatchObject({
			result: {
				pool: {
					models: [
						{ model: GROK, targets: [{ backend: "xai" }] },
						{ model: "custom-unused/qwen3-32b", custom_provider: "unused" },
					],
				},
			},
		});
		expect(requests).toEqual([]);
	});
});
