/** The AI SDK with `ai-gateway-provider` and with `workers-ai-provider`, on providers that check the key, and on a dynamic route. */
import { createExecutionContext } from "cloudflare:test";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, type LanguageModel, streamText } from "ai";
import { createAiGateway } from "ai-gateway-provider";
import { createUnified } from "ai-gateway-provider/providers/unified";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createWorkersAI } from "workers-ai-provider";
import { openai as openaiWire } from "workers-ai-provider/openai";
import { AiGateway } from "../../../src/surfaces/gateway/gateway-wire.ts";
import { entrypoint } from "../../../src/surfaces/rpc/entrypoint.ts";
import { OPENAI_KEY } from "../../clients/providers/openai.ts";
import { KEYS } from "../../clients/providers/routes.ts";
import { upstream } from "../../gateway.ts";
import { closedGateway, json } from "../../http/access.ts";
import { provide } from "./scripted-providers.ts";

const prompt = "My name is Alice. What is my name?";
const ANSWER = "Your name is Alice.";
const PRODUCT = "https://gateway.ai.cloudflare.com";

afterEach(() => void vi.unstubAllGlobals());

async function world() {
	const providers = upstream(provide);
	const vars = { DEFAULT_BACKEND: "simulator" };
	const { account, app, createToken, send, services } = closedGateway({ vars, fetch: providers.fetch });
	const token = await createToken(["Workers AI Write"]);
	const caller = { account, credential: { kind: "operator" as const }, verified: true as const };
	vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) =>
		app.request(String(input).replace(PRODUCT, "http://gateway"), init),
	);
	const manage = async (path: string, fields: object) => {
		const response = await send(`/ai-gateway/gateways/mine${path}`, token, json("POST", fields));
		if (!response.ok) throw new Error(await response.text());
		return response.json<{ result: { id: string; version: { version_id: string } } }>();
	};
	const binding = new AiGateway("mine", caller, services);
	const context = Object.defineProperty(createExecutionContext(), "props", { value: { account } });
	const ai = new (entrypoint(() => ({ services, allowAnonymous: false })))(context, {});
	return { account, token, manage, ai, binding, requests: providers.requests };
}

type World = Awaited<ReturnType<typeof world>>;

const MODELS = {
	openai: () => createOpenAI({ apiKey: OPENAI_KEY }).chat("gpt-5"),
	anthropic: () => createAnthropic({ apiKey: KEYS.CLAUDE_KEY })("claude-sonnet-4-5"),
	google: () => createGoogle({ apiKey: KEYS.GEMINI_KEY })("gemini-3-flash-preview"),
};
const CONNECTIONS = {
	HTTP: ({ account, token }: World) =>
		createAiGateway({ accountId: account, gateway: "mine", apiKey: token }),
	binding: ({ binding }: World) =>
		createAiGateway({ binding: { run: (data, options) => binding.run(data, options) } }),
};

describe.each(Object.entries(CONNECTIONS))("ai-gateway-provider by %s", (_, connect) => {
	it.each(Object.entries(MODELS))("reaches %s with the caller's key, also in a stream", async (_, model) => {
		const at = await world();
		expect((await generateText({ model: connect(at)(model()), prompt })).text).toBe(ANSWER);
		expect(await streamText({ model: connect(at)(model()), prompt }).text).toBe(ANSWER);
		for (const { headers } of at.requests) expect([...headers.values()].join()).not.toContain(at.token);
	});

	it("falls back to the second model if the provider refuses the first one's key", async () => {
		const at = await world();
		const refused = createAnthropic({ apiKey: "a-wrong-key" })("claude-sonnet-4-5");
		const model = connect(at)([refused, MODELS.openai()]);
		expect((await generateText({ model, prompt })).text).toBe(ANSWER);
		expect(at.requests.map(({ url }) => new URL(url).hostname)).toEqual([
			"api.anthropic.com",
			"api.openai.com",
		]);
	});
});

/** Routes every request to a model of Workers AI. */
async function deployRoute({ manage }: World): Promise<void> {
	const to = (elementId: string) => ({ elementId });
	const properties = { provider: "workers-ai", model: "@cf/meta/llama-3.1-8b-instruct-fp8" };
	const elements = [
		{ id: "start", type: "start", outputs: { next: to("model") } },
		{ id: "model", type: "model", properties, outputs: { success: to("end") } },
		{ id: "end", type: "end", outputs: {} },
	];
	const { result } = await manage("/routes", { name: "support", elements });
	await manage(`/routes/${result.id}/deployments`, { version_id: result.version.version_id });
}

describe("a dynamic route", () => {
	const clients: Record<string, (at: World) => LanguageModel> = {
		"ai-gateway-provider by HTTP": (at) =>
			CONNECTIONS.HTTP(at)(createUnified({ apiKey: at.token })("dynamic/support")),
		"ai-gateway-provider by binding": (at) =>
			CONNECTIONS.binding(at)(createUnified({ apiKey: at.token })("dynamic/support")),
		"workers-ai-provider": ({ ai }) =>
			createWorkersAI({ binding: ai as unknown as Ai, gateway: { id: "mine" } })("dynamic/support"),
	};

	it.each(Object.entries(clients))("is called by %s, also for a stream", async (_, modelOf) => {
		const at = await world();
		const model = modelOf(at);
		await expect(generateText({ model, prompt, maxRetries: 0 })).rejects.toThrow();
		await deployRoute(at);
		expect((await generateText({ model, prompt })).text).toContain("Alice");
		expect(await streamText({ model, prompt }).text).toContain("Alice");
		expect(at.requests).toEqual([]);
	});
});

describe("workers-ai-provider at a gateway", () => {
	const modelOf = ({ binding }: World, options: object) =>
		createWorkersAI({
			binding: { gateway: () => binding } as unknown as Ai,
			gateway: { id: "mine" },
			providers: [openaiWire],
		})("openai/gpt-5", { transport: "gateway", ...options });

	it("reaches a provider with the caller's key", async () => {
		const at = await world();
		const extraHeaders = { authorization: `Bearer ${OPENAI_KEY}` };
		const model = modelOf(at, { byok: true, extraHeaders });
		expect((await generateText({ model, prompt })).text).toBe(ANSWER);
		expect(at.requests.map(({ headers }) => headers.get("authorization"))).toEqual([`Bearer ${OPENAI_KEY}`]);
	});

	it("reaches a provider with the stored key of an alias", async () => {
		const at = await world();
		await at.manage("/provider_configs", { provider_slug: "openai", alias: "second", secret: OPENAI_KEY });
		const model = modelOf(at, { byokAlias: "second" });
		expect((await generateText({ model, prompt })).text).toBe(ANSWER);
		expect(at.requests.map(({ headers }) => headers.get("authorization"))).toEqual([`Bearer ${OPENAI_KEY}`]);
	});
});
