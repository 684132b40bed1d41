import { describe, expect, it, vi } from "vitest";
import { wireOf } from "../../../src/surfaces/binding/binding.ts";
import {
	CALLER,
	completion,
	DONE,
	delta,
	ENGINE_VARS,
	events,
	finish,
	type TestOptions,
	testGateway,
	testServices,
	upstream,
	usage,
} from "../../gateway.ts";
import { ADMIN, closedGateway, json } from "../../http/access.ts";
import { GATEWAY_SETTINGS } from "../../surfaces/gateway/gateway-settings.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const PROVIDER_VARS = {
	PROVIDER_KEYS: { openai: "OPENAI_KEY", anthropic: "ANTHROPIC_KEY" },
	OPENAI_KEY: "sk-openai",
	ANTHROPIC_KEY: "sk-ant",
};
const MESSAGES = { messages: [{ role: "user", content: "Hi" }] };
const hello = () => upstream(() => Response.json(completion("Hello")));

/** The request of the runtime's `Ai` class. */
function binding(options: TestOptions = {}) {
	const wire = wireOf(testServices(options));
	return (
		path: string,
		model: string,
		body: { inputs: unknown; options?: unknown },
	): Promise<Response> | Response =>
		wire.fetch(
			new Request(`https://workers-binding.ai${path}?version=3`, {
				...json("POST", body),
				headers: { "content-type": "application/json", "cf-consn-model-id": model },
			}),
			{ caller: CALLER },
		);
}

describe("the binding with a gateway", () => {
	it("answers without an envelope, with exactly application/json and the headers of both", async () => {
		const run = binding({ vars: ENGINE_VARS, fetch: hello().fetch });
		const options = { gateway: { id: "mine", eventId: "event-1" } };
		const response = await run("/ai-gateway/run", LLAMA, { inputs: { prompt: "Hi" }, options });
		expect(response.headers.get("content-type")).toBe("application/json");
		expect(await response.json()).toMatchObject({ response: "Hello" });
		expect(response.headers.get("cf-ai-req-id")).toMatch(/^[0-9a-f-]{36}$/);
		expect(response.headers.get("cf-aig-event-id")).toBe("event-1");
		expect(response.headers.get("cf-aig-step")).toBe("0");
	});

	it("streams", async () => {
		const fake = upstream(() => events(delta("Hi"), finish(), usage(), DONE));
		const run = binding({ vars: ENGINE_VARS, fetch: fake.fetch });
		const response = await run("/ai-gateway/run", LLAMA, {
			inputs: { prompt: "Hi", stream: true },
			options: { gateway: { id: "mine" } },
		});
		expect(response.headers.get("content-type")).toBe("text/event-stream");
		expect(await response.text()).toMatch(/^data: \{"response":"Hi"[\s\S]*data: \[DONE\]\n\n$/);
	});

	it("runs a model of the operator without a gateway, also if its name is like that of a provider's", async () => {
		const MODELS = { "acme/chat": { task: "Text Generation" } };
		const { fetch } = hello();
		const { post } = testGateway({ vars: { ...ENGINE_VARS, ...PROVIDER_VARS, MODELS }, fetch });
		const chat = async (model: string) =>
			(await post("/v1/chat/completions", { model, ...MESSAGES })).headers.get("cf-aig-step");
		expect(await chat("acme/chat")).toBeNull();
		expect(await chat("openai/gpt-5")).toBe("0");
	});

	it("has one name in the logs for a model of the operator, by every way in", async () => {
		const engine = hello();
		const vars = {
			BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
			MODELS: { "acme/chat": { task: "Text Generation" } },
			ROUTES: {
				"acme/chat": [{ backend: "engine" }],
				qwen4: [{ backend: "engine" }],
				"lab/*": [{ backend: "engine" }],
			},
		};
		const { account, createToken, send, services } = closedGateway({ vars, fetch: engine.fetch });
		await services.gateways.change(account, "main", (registry) => registry.create("main", GATEWAY_SETTINGS));
		const token = await createToken(["Workers AI Run"]);
		const post = async (path: string, model: string, headers: Record<string, string> = {}) => {
			const { headers: type, ...init } = json("POST", { model, ...MESSAGES });
			const response = await send(`http://gateway${path}`, token, {
				...init,
				headers: { ...type, ...headers },
			});
			return response.status;
		};
		for (const id of ["acme/chat", "qwen4", "lab/gemma"]) {
			const compat = `/v1/${account}/main/compat/chat/completions`;
			expect(await post(compat, id)).toBe(200);
			expect(await post(compat, `workers-ai/${id}`)).toBe(200);
			const inMain = { "cf-aig-gateway-id": "main" };
			expect(await post(`/client/v4/accounts/${account}/ai/v1/chat/completions`, id, inMain)).toBe(200);
			const names = async () => {
				const list = await send("/ai-gateway/gateways/main/logs?per_page=50", ADMIN);
				const { result } = await list.json<{ result: { provider: string; model: string }[] }>();
				return result.filter(({ model }) => model === id).map(({ provider }) => provider);
			};
			await expect.poll(names).toEqual(["workers-ai", "workers-ai", "workers-ai"]);
		}
		expect(await post(`/v1/${account}/main/compat/chat/completions`, "acme/other")).toBe(400);
	});

	it("runs a dynamic route with the body of a chat", async () => {
		const services = testServices({ vars: PROVIDER_VARS, fetch: hello().fetch });
		const gateway = `gw-${crypto.randomUUID()}`;
		const next = (elementId: string) => ({ elementId });
		await services.deployedRoutes.change("local", async (routes) => {
			const route = await routes.create(gateway, "support", [
				{ id: "start", type: "start", outputs: { next: next("model") } },
				{
					id: "model",
					type: "model",
					properties: { provider: "openai", model: "gpt-5" },
					outputs: { success: next("end") },
				},
				{ id: "end", type: "end" },
			]);
			if (typeof route === "object") await routes.deploy(gateway, route.id, route.version.id);
		});
		const response = await wireOf(services).fetch(
			new Request("https://workers-binding.ai/ai-gateway/run?version=3", {
				...json("POST", { inputs: MESSAGES, options: { gateway: { id: gateway } } }),
				headers: { "content-type": "application/json", "cf-consn-model-id": "dynamic/support" },
			}),
			{ caller: CALLER },
		);
		expect(await response.json()).toMatchObject({
			object: "chat.completion",
			choices: [{ message: { content: "Hello" } }],
		});
		expect(response.headers.get("cf-aig-model")).toBe("gpt-5");
		expect(response.headers.get("cf-aig-provider")).toBe("openai");
	});

	it("fails in the format that the class reads, also with the list of AI Gateway", async () => {
		const run = binding({ vars: ENGINE_VARS, fetch: hello().fetch });
		const options = { gateway: { id: "mine" } };
		const invalid = await run("/ai-gateway/run", LLAMA, { inputs: { prompt: 7 }, options });
		expect(invalid.status).toBe(400);
		const body = await invalid.json<{ description: string }>();
		expect(body).toMatchObject({ internalCode: 5006, name: "AiError", httpCode: 400, success: false });
		expect(body).toMatchObject({ error: [{ code: 5006, message: body.description }] });
		const unknown = await run("/ai-gateway/run", "openai/gpt-5", {
			inputs: MESSAGES,
			options: { gateway: { id: "" } },
		});
		expect(unknown.status).toBe(200);
		const invalidId = { gateway: { id: "no such/gateway" } };
		const absent = await run("/ai-gateway/run", LLAMA, { inputs: { prompt: "Hi" }, options: invalidId });
		expect(absent.status).toBe(400);
		expect(await absent.json()).toMatchObject({
			name: "AiGatewayError",
			internalCode: 2001,
			description:
				'Please configure AI Gateway: the account has no gateway "no such/gateway". POST …/ai-gateway/gateways creates one (docs/gateways.md)',
			error: [{ code: 2001 }],
		});
	});

	it("takes the options of retries from the body", async () => {
		let calls = 0;
		const fake = upstream(() =>
			++calls < 3 ? new Response("busy", { status: 503 }) : Response.json(completion("Hello")),
		);
		const ROUTES = { "*": { targets: [{ backend: "engine" }], retries: { attempts: 1 } } };
		const run = binding({ vars: { ...ENGINE_VARS, ROUTES }, fetch: fake.fetch });
		const retries = { maxAttempts: 3, retryDelayMs: 0, backoff: "constant" };
		const response = await run("/ai-gateway/run", LLAMA, {
			inputs: { prompt: "Hi" },
			options: { gateway: { id: "mine", retries } },
		});
		expect(await response.json()).toMatchObject({ response: "Hello" });
		expect(calls).toBe(3);
	});

	it("runs author/model on /run in the default gateway, and a model of Workers AI in none", async () => {
		const run = binding({ vars: { ...PROVIDER_VARS, DEFAULT_BACKEND: "simulator" }, fetch: hello().fetch });
		const third = await run("/run", "openai/gpt-5", { inputs: MESSAGES });
		expect(third.status).toBe(200);
		expect(third.headers.get("cf-aig-step")).toBe("0");
		const own = await run("/run", LLAMA, { inputs: { prompt: "Hi" } });
		expect(own.status).toBe(200);
		expect(own.headers.has("cf-aig-step")).toBe(false);
	});
});

describe("REST with a gateway", () => {
	const gateway = () => testGateway({ vars: { ...ENGINE_VARS, ...PROVIDER_VARS }, fetch: hello().fetch });
	const inGateway = { headers: { "cf-aig-gateway-id": "mine" } };

	it.each([
		["/run", { model: LLAMA, input: { prompt: "Hi" } }],
		[`/run/${LLAMA}`, { prompt: "Hi" }],
		["/v1/chat/completions", { model: LLAMA, ...MESSAGES }],
		["/v1/responses", { model: LLAMA, input: "Hi" }],
		["/v1/messages", { model: LLAMA, max_tokens: 9, ...MESSAGES }],
	])("%s runs in the gateway of the header, and without the header in none", async (path, body) => {
		const { post } = gateway();
		const without = await post(path, body);
		expect([without.status, without.headers.has("cf-aig-step")]).toEqual([200, false]);
		const within = await post(path, body, inGateway);
		expect([within.status, within.headers.get("cf-aig-step")]).toEqual([200, "0"]);
		const { "cf-ai-req-id": _, ...answer } = await within.json<Record<string, unknown>>();
		expect(Object.keys(answer)).toEqual(Object.keys(await without.json<object>()));
	});

	it.each([
		["/run", { model: "openai/gpt-5", input: MESSAGES }],
		["/run/openai/gpt-5", MESSAGES],
		["/v1/chat/completions", { model: "openai/gpt-5", ...MESSAGES }],
	])("%s runs author/model in the default gateway", async (path, body) => {
		const response = await gateway().post(path, body);
		expect([response.status, response.headers.get("cf-aig-step")]).toEqual([200, "0"]);
	});

	it.each([
		[`/run/${LLAMA}`, { prompt: 7 }, { success: false, errors: [{ code: 5006 }] }],
		[
			"/v1/chat/completions",
			{ model: LLAMA, messages: 7 },
			{ success: false, error: { type: "invalid_request_error" } },
		],
		[
			"/v1/messages",
			{ model: LLAMA, max_tokens: 9 },
			{ type: "error", error: { type: "invalid_request_error" } },
		],
		["/v1/responses", { model: LLAMA, input: 7 }, { error: { type: "invalid_request_error" } }],
	])("%s keeps the format of its failures", async (path, body, failure) => {
		const response = await gateway().post(path, body, inGateway);
		expect([response.status, response.headers.get("cf-aig-step")]).toEqual([400, "0"]);
		expect(await response.json()).toMatchObject(failure);
	});

	it("names a gateway that does not exist once in the log, where it runs all the same", async () => {
		const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
		const run = binding({ vars: ENGINE_VARS, fetch: hello().fetch });
		for (const id of ["staging", "staging", "default"]) {
			const body = { inputs: { prompt: "Hi" }, options: { gateway: { id } } };
			expect((await run("/ai-gateway/run", LLAMA, body)).status).toBe(200);
		}
		const messages = warn.mock.calls.map(([message]) => String(message));
		warn.mockRestore();
		expect(messages).toEqual([
			'There is no gateway "staging": its requests run with default settings here. Elsewhere they get 400 (2001) until POST …/ai-gateway/gateways creates it',
		]);
	});

	it("refuses an unknown gateway in the v4 envelope, but not before the token is verified", async () => {
		const { send, createToken } = closedGateway({ vars: ENGINE_VARS, fetch: hello().fetch });
		const token = await createToken(["Workers AI Run"]);
		const request = (id: string): RequestInit => ({
			...json("POST", { prompt: "Hi" }),
			headers: { "content-type": "application/json", "cf-aig-gateway-id": id },
		});
		const path = `/ai/run/${LLAMA}`;
		const unknown = await send(path, token, request("no such"));
		expect(unknown.status).toBe(400);
		expect(await unknown.json()).toMatchObject({ success: false, errors: [{ code: 2001 }], result: null });
		expect((await send(path, token, request("default"))).status).toBe(200);
		const revoked = `${token.slice(0, -4)}0000`;
		for (const id of ["no such", "default"])
			expect((await send(path, revoked, request(id))).status).toBe(401);
	});
});
