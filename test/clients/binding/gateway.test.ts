/** What `workers-ai-provider` does with AI Gateway: its providers on the run path and on the gateway path. */
import { env } from "cloudflare:workers";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { embed, generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createWorkersAI, type DelegateCallOptions, type DispatchInfo } from "workers-ai-provider";
import { anthropic } from "workers-ai-provider/anthropic";
import { createGatewayFetch } from "workers-ai-provider/gateway";
import { google } from "workers-ai-provider/google";
import { openai } from "workers-ai-provider/openai";
import { CLAUDE, GEMINI } from "../providers/routes.ts";

const { PROVIDED } = env as unknown as { PROVIDED: Ai };
const GPT = "openai/gpt-5-mini";
const prompt = "My name is Alice. What is my name?";
const ANSWER: Readonly<Record<string, string>> = {
	[CLAUDE]: "Your name is Alice.",
	[GEMINI]: "Your name is Alice.",
	[GPT]: "My name is Alice. What is my name?",
};

const workersai = createWorkersAI({
	binding: PROVIDED,
	gateway: { id: "my-gateway" },
	providers: [openai, anthropic, google],
});
let dispatched: DispatchInfo | undefined;
beforeEach(() => {
	dispatched = undefined;
});
const modelOf = (slug: string, options: DelegateCallOptions = {}) =>
	workersai(slug as "openai/gpt-5-mini", {
		...options,
		onDispatch: (info: DispatchInfo) => {
			dispatched = info;
		},
	});

describe.each(["run", "gateway"] as const)("workers-ai-provider on the %s path", (transport) => {
	describe.each([GPT, CLAUDE, GEMINI])("%s", (slug) => {
		it("chats", async () => {
			const { text, usage } = await generateText({
				model: modelOf(slug, { transport, metadata: { tenant: "a" }, collectLog: true }),
				prompt,
			});
			expect(text).toContain(ANSWER[slug]);
			expect(usage.inputTokens).toBeGreaterThan(0);
			expect(dispatched).toMatchObject({ transport, status: 200 });
		});

		it("streams", async () => {
			const result = streamText({ model: modelOf(slug, { transport }), prompt });
			const pieces: string[] = [];
			for await (const piece of result.textStream) pieces.push(piece);
			expect(pieces.join("")).toContain(ANSWER[slug]);
			expect(pieces.length).toBeGreaterThan(2);
			expect(await result.finishReason).toBe("stop");
		});

		it("calls a tool and uses its result", async () => {
			const weather = tool({
				description: "Get the current weather of a city",
				inputSchema: jsonSchema<{ city: string }>({
					type: "object",
					properties: { city: { type: "string" } },
					required: ["city"],
				}),
				execute: async ({ city }) => `18 degrees in ${city}`,
			});
			const { text } = await generateText({
				model: modelOf(slug, { transport }),
				prompt: 'What is the weather in Paris? Use the weather tool with {"city":"Paris"}',
				tools: { weather },
				stopWhen: stepCountIs(3),
			});
			expect(text).toContain("18 degrees in Paris");
		});

		it("structures its output", async () => {
			const { output } = await generateText({
				model: modelOf(slug, { transport }),
				prompt,
				output: Output.object({
					schema: jsonSchema<{ name: string }>({
						type: "object",
						properties: { name: { type: "string" } },
						required: ["name"],
						additionalProperties: false,
					}),
					name: "Person",
				}),
			});
			expect(output).toMatchObject({ name: expect.any(String) });
		});
	});

	it.each(["anthropic/claude-none", "google/gemini-none"])("reports that %s does not exist", async (slug) => {
		const failed = generateText({ model: modelOf(slug, { transport }), prompt, maxRetries: 0 });
		// On the run path the body is the binding's own, whose message the SDK of a provider does not read.
		const message = expect.stringContaining(transport === "run" ? "Not Found" : `${slug}`);
		await expect(failed).rejects.toMatchObject({ statusCode: 404, message });
	});
});

/** Authors whose models have OpenAI's format. The last two have no address at a gateway. */
describe.each([
	"xai/grok-4",
	"groq/llama-3.3-70b-versatile",
	"deepseek/deepseek-chat",
	"alibaba/qwen3-max",
	"minimax/m2",
])("workers-ai-provider on %s", (slug) => {
	it("chats and streams", async () => {
		expect((await generateText({ model: modelOf(slug), prompt })).text).toContain("Alice");
		expect(await streamText({ model: modelOf(slug), prompt }).text).toContain("Alice");
		expect(dispatched).toMatchObject({ status: 200 });
	});
});

describe("workers-ai-provider's fallback", () => {
	it.each(["client", "server"] as const)(
		"by the %s uses the second model when the first does not exist",
		async (mode) => {
			const { text } = await generateText({
				model: modelOf("anthropic/claude-none", { fallback: { mode, models: [GPT] } }),
				prompt,
				maxRetries: 0,
			});
			expect(text).toContain(ANSWER[GPT]);
			if (mode === "server") expect(dispatched).toMatchObject({ transport: "gateway", cfStep: "1" });
		},
	);

	it("by the server takes models of one provider and of several", async () => {
		for (const models of [["openai/gpt-5-nano"], [GEMINI, CLAUDE]]) {
			const model = modelOf(GPT, { fallback: { mode: "server", models } });
			expect((await generateText({ model, prompt })).text).toContain(ANSWER[GPT]);
			expect(dispatched).toMatchObject({ transport: "gateway", cfStep: "0" });
		}
	});
});

describe("a provider of the AI SDK on createGatewayFetch", () => {
	const gatewayFetch = createGatewayFetch({ binding: PROVIDED, gateway: "my-gateway" });
	it.each([
		[GPT, createOpenAI({ apiKey: "unused", fetch: gatewayFetch }).chat("gpt-5-mini")],
		[GPT, createOpenAI({ apiKey: "unused", fetch: gatewayFetch }).responses("gpt-5-mini")],
		[CLAUDE, createAnthropic({ apiKey: "unused", fetch: gatewayFetch })("claude-sonnet-4.5")],
		[GEMINI, createGoogle({ apiKey: "unused", fetch: gatewayFetch })("gemini-3-flash")],
	])("answers as %s", async (slug, model) => {
		expect((await generateText({ model, prompt })).text).toContain(ANSWER[slug]);
		expect(await streamText({ model, prompt }).text).toContain(ANSWER[slug]);
	});

	it("embeds", async () => {
		const model = createOpenAI({ apiKey: "unused", fetch: gatewayFetch }).embedding("text-embedding-3-small");
		const { embedding } = await embed({ model, value: "Hello" });
		expect(embedding.length).toBeGreaterThan(10);
	});
});

it("a repeated request is answered from the cache, once its answer is stored", async () => {
	const repeat = () => generateText({ model: modelOf(GPT, { cacheTtl: 120 }), prompt });
	const logId = expect.any(String);
	await repeat();
	expect(dispatched).toMatchObject({ transport: "gateway", cacheStatus: "MISS", logId });
	await vi.waitFor(async () => {
		await repeat();
		expect(dispatched).toMatchObject({ transport: "gateway", cacheStatus: "HIT", logId });
	});
});
