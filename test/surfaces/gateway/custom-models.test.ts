/** Models of custom providers, and dynamic routes to them, on every surface that runs models. */
import { describe, expect, it } from "vitest";
import { wireOf } from "../../../src/surfaces/binding/binding.ts";
import {
	CALLER,
	completion,
	DONE,
	delta,
	events,
	finish,
	testGateway,
	upstream,
	usage,
} from "../../gateway.ts";

/** Of this file: lists of custom providers are those of an account. */
const ACCOUNT = "custom-models";
const BASE = `http://gateway/client/v4/accounts/${ACCOUNT}/ai`;
const HOST = "https://llm.acme.example/v1";
const MODEL = "custom-acme/qwen3-32b";
const MESSAGES = [{ role: "user", content: "Hi" }];

/** A custom provider `acme` that serves OpenAI's chat, and a dynamic route `support` to it. */
async function world() {
	const { fetch, requests } = upstream(async (request) => {
		if (request.url !== `${HOST}/chat/completions`)
			return Response.json({ error: { message: "not here" } }, { status: 404 });
		const { stream } = await request.json<{ stream?: boolean }>();
		return stream
			? events(delta("Hel"), delta("lo"), finish(), usage(), DONE)
			: Response.json(completion("Hello"));
	});
	const { app, services } = testGateway({ vars: {}, fetch });
	services.publicFetch = fetch;
	const gateway = `gw-${crypto.randomUUID()}`;
	const post = async (address: string, body: object): Promise<Response> =>
		app.request(address, {
			method: "POST",
			headers: { "content-type": "application/json", "cf-aig-gateway-id": gateway },
			body: JSON.stringify(body),
		});
	const management = BASE.replace(/\/ai$/, "/ai-gateway");
	const slug = "acme";
	await post(`${management}/custom-providers`, {
		name: "Acme",
		slug,
		base_url: HOST,
		enable: true,
		headers: { "x-team": "blue" },
	});
	await post(`${management}/gateways/${gateway}/provider_configs`, {
		provider_slug: "custom-acme",
		alias: "default",
		secret: "sk-acme",
		default_config: true,
	});
	const elements = [
		{ id: "start", type: "start", outputs: { next: { elementId: "own" } } },
		{
			id: "own",
			type: "model",
			properties: { provider: "custom-acme", model: "qwen3-32b" },
			outputs: { success: { elementId: "end" } },
		},
		{ id: "end", type: "end", outputs: {} },
	];
	const routes = `${management}/gateways/${gateway}/routes`;
	const { result } = await (await post(routes, { name: "support", elements })).json<{
		result: { id: string; version: { version_id: string } };
	}>();
	await post(`${routes}/${result.id}/deployments`, { version_id: result.version.version_id });
	const bind = async (model: string, inputs: object, options: object = {}): Promise<Response> =>
		wireOf(services).fetch(
			new Request("https://workers-binding.ai/ai-gateway/run?version=3", {
				method: "POST",
				headers: { "content-type": "application/json", "cf-consn-model-id": model },
				body: JSON.stringify({ inputs, options: { gateway: { id: gateway }, ...options } }),
			}),
			{ caller: { ...CALLER, account: ACCOUNT } },
		);
	const models = async (id = "", headers: Record<string, string> = {}) => {
		const response = await app.request(`${BASE}/v1/models${id}`, {
			headers: { "cf-aig-gateway-id": gateway, ...headers },
		});
		return { status: response.status, ...(await response.json<{ id?: string; data?: { id: string }[] }>()) };
	};
	return { post, bind, models, requests, aliases: `${management}/gateways/${gateway}/aliases`, routes };
}

describe("the list of models", () => {
	it("has the aliases and the deployed routes of the gateway, and shows each, and the models of its custom providers", async () => {
		const { post, models, aliases, routes } = await world();
		await post(aliases, { name: "assistant", routing: "fallback", models: [MODEL] });
		await post(routes, {
			name: "draft",
			elements: [
				{ id: "start", type: "start", outputs: { next: { elementId: "end" } } },
				{ id: "end", type: "end", outputs: {} },
			],
		});
		const listed = ((await models()).data ?? []).map(({ id }) => id);
		expect(listed).toEqual(["custom/assistant", "dynamic/support"]);
		for (const id of [...listed, MODEL])
			expect(await models(`/${id}`)).toMatchObject({ status: 200, id, object: "model" });
		expect(await models("/custom/assistant", { "anthropic-version": "2023-06-01" })).toMatchObject({
			id: "custom/assistant",
			type: "model",
		});
		for (const id of ["custom/other", "dynamic/draft", "custom-other/qwen3-32b"])
			expect(await models(`/${id}`)).toMatchObject({ status: 404 });
		const elsewhere = { "cf-aig-gateway-id": "another" };
		expect((await models("", elsewhere)).data).toEqual([]);
		expect(await models("/custom/assistant", elsewhere)).toMatchObject({ status: 404 });
	});
});

describe.each([MODEL, "dynamic/support"])("%s", (model) => {
	it.each([
		[
			`/run/${model}`,
			{ messages: MESSAGES },
			{ success: true, result: { choices: [{ message: { content: "Hello" } }] } },
		],
		[
			"/run",
			{ model, input: { messages: MESSAGES } },
			{ success: true, result: { choices: [{ message: { content: "Hello" } }] } },
		],
		["/v1/chat/completions", { model, messages: MESSAGES }, { choices: [{ message: { content: "Hello" } }] }],
		[
			"/v1/messages",
			{ model, max_tokens: 64, messages: MESSAGES },
			{ type: "message", content: [{ type: "text", text: "Hello" }] },
		],
		[
			"/v1/responses",
			{ model, input: "Hi" },
			{ object: "response", output: [{ content: [{ text: "Hello" }] }] },
		],
	])("answers at %s", async (path, body, answer) => {
		const { post, requests } = await world();
		const response = await post(`${BASE}${path}`, body);
		expect(await response.json()).toMatchObject(answer);
		expect(response.status).toBe(200);
		const [request] = requests;
		expect(request?.headers.get("authorization")).toBe("Bearer sk-acme");
		expect(request?.headers.get("x-team")).toBe("blue");
		expect(await request?.json()).toMatchObject({ model: "qwen3-32b", messages: [{ role: "user" }] });
	});

	it.each([
		[undefined, { messages: MESSAGES }, { object: "chat.completion" }],
		["/v1/chat/completions", { messages: MESSAGES }, { object: "chat.completion" }],
		["/v1/messages", { max_tokens: 64, messages: MESSAGES }, { type: "message", role: "assistant" }],
		["/v1/responses", { input: "Hi" }, { object: "response", status: "completed" }],
	])("answers on the binding in the format of openaiEndpoint %s", async (openaiEndpoint, inputs, answer) => {
		const { bind } = await world();
		const response = await bind(model, inputs, { openaiEndpoint });
		expect(response.headers.get("content-type")).toBe("application/json");
		expect(await response.json()).toMatchObject(answer);
	});

	it("streams events of the format of openaiEndpoint", async () => {
		const { bind } = await world();
		const response = await bind(
			model,
			{ max_tokens: 64, messages: MESSAGES, stream: true },
			{ openaiEndpoint: "/v1/messages" },
		);
		expect(response.headers.get("content-type")).toBe("text/event-stream");
		const types = (await response.text()).split("\n").filter((line) => line.startsWith("event: "));
		expect(types[0]).toBe("event: message_start");
		expect(types.at(-1)).toBe("event: message_stop");
	});

	it("is refused for an openaiEndpoint that does not exist", async () => {
		const { bind, requests } = await world();
		const response = await bind(model, { input: "Hi" }, { openaiEndpoint: "/v1/embeddings" });
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({
			internalCode: 8001,
			description: expect.stringContaining("options.openaiEndpoint"),
		});
		expect(requests).toEqual([]);
	});
});

it("the answers of two formats are not confused in the cache", async () => {
	const { bind } = await world();
	const types = [];
	for (const openaiEndpoint of ["/v1/chat/completions", "/v1/messages"]) {
		const options = { openaiEndpoint, gateway: { cacheTtl: 60 } };
		const response = await bind(MODEL, { max_tokens: 64, messages: MESSAGES }, options);
		types.push(Object.keys(await response.json<object>()).includes("choices"));
	}
	expect(types).toEqual([true, false]);
});

it("a custom provider that the account does not have is an error of its name", async () => {
	const { post } = await world();
	const response = await post(`${BASE}/v1/chat/completions`, {
		model: "custom-none/llama",
		messages: MESSAGES,
	});
	expect(response.status).toBe(400);
	expect(JSON.stringify(await response.json())).toContain('custom-none\\" is not an enabled custom provider');
});
