/** Clients on models that Anthropic and Google answer for, by REST: what each of them was asked is looked at, too. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createWorkersAI } from "workers-ai-provider";
import { ACCOUNT, type StartedGateway, startGateway } from "./gateway.ts";
import { SIGNATURE } from "./providers/anthropic.ts";
import { CLAUDE, GEMINI, KEYS, KIMI, routesOf } from "./providers/routes.ts";
import { type Providers, startProviders } from "./providers/server.ts";
import { redirecting } from "./redirect.ts";
import { onProviders } from "./suites/workers-ai-provider-providers.ts";

/** The gateway seals signatures. The provider refuses a signature that is not its own, so it receives the original. */
const SEALED: unknown = expect.stringMatching(/^gngl[\w+/=]{100,}$/);

let providers: Providers;
let gateway: StartedGateway;

beforeAll(async () => {
	providers = await startProviders();
	const { BACKENDS, ROUTES } = routesOf(providers.url);
	gateway = await startGateway({
		BACKENDS: JSON.stringify(BACKENDS),
		ROUTES: JSON.stringify(ROUTES),
		...KEYS,
	});
});
afterAll(async () => {
	await gateway?.stop();
	providers?.stop();
});
beforeEach(() => void providers.asked.splice(0));

onProviders("REST", () =>
	createWorkersAI({ accountId: ACCOUNT, apiKey: "none", fetch: redirecting(gateway.baseURL) }),
);

const ALICE = [
	{ role: "user", content: "My name is Alice." },
	{ role: "assistant", content: "Hello!" },
	{ role: "user", content: "What is my name?" },
] as const;
const CACHED = { cache_control: { type: "ephemeral" } } as const;

describe("Anthropic SDK on Anthropic's own model", () => {
	const client = () =>
		new Anthropic({ baseURL: `${gateway.baseURL}/accounts/${ACCOUNT}/ai`, apiKey: "none", maxRetries: 0 });
	const WEATHER: Anthropic.Tool = {
		name: "weather",
		description: "Get the current weather of a city",
		input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
	};
	const asked: Anthropic.MessageCreateParamsNonStreaming = {
		model: CLAUDE,
		max_tokens: 2048,
		thinking: { type: "enabled", budget_tokens: 1024 },
		system: [{ type: "text", text: "Be short.", ...CACHED }],
		messages: [
			{ role: "user", content: [{ type: "text", text: "What is the weather in Paris?", ...CACHED }] },
		],
		tools: [{ ...WEATHER, ...CACHED }],
	};

	it("is sent what was said, as it was said", async () => {
		const message = await client().messages.create({ ...asked, metadata: { user_id: "u" } });
		expect(message).toMatchObject({
			model: CLAUDE,
			stop_reason: "tool_use",
			usage: { input_tokens: 20, cache_read_input_tokens: 7, output_tokens: 9 },
		});
		expect(providers.asked.map(({ body }) => body)).toEqual([
			{ ...asked, model: "claude-sonnet-4-5", metadata: { user_id: "u" }, stream: false },
		]);
	});

	// The provider refuses results of tools without the thoughts before the calls, and thoughts that it did not sign.
	it("thinks, calls a tool and goes on thinking, whole and streamed", async () => {
		const whole = await client().messages.create(asked);
		const streamed = await client().messages.stream(asked).finalMessage();
		for (const { content } of [whole, streamed]) {
			expect(content).toMatchObject([
				{ type: "thinking", thinking: "The user wants to be answered.", signature: SEALED },
				{ type: "tool_use", name: "weather", input: { city: "Paris" } },
			]);
			const [, call] = content;
			const tool_use_id = call?.type === "tool_use" ? call.id : "";
			const turns: Anthropic.MessageParam[] = [
				...asked.messages,
				{ role: "assistant", content },
				{ role: "user", content: [{ type: "tool_result", tool_use_id, content: "18 degrees" }] },
			];
			const answer = await client()
				.messages.stream({ ...asked, messages: turns })
				.finalMessage();
			expect(answer.content).toMatchObject([
				{ type: "thinking", signature: SEALED },
				{ type: "text", text: "The tools say: 18 degrees" },
			]);
		}
	});

	it("keeps signatures on a model of another maker, which is Claude here", async () => {
		const thinking = { ...asked, model: KIMI };
		const { content } = await client().messages.stream(thinking).finalMessage();
		expect(content[0]).toMatchObject({ type: "thinking", signature: SEALED });
		const [, call] = content;
		const tool_use_id = call?.type === "tool_use" ? call.id : "";
		const result: Anthropic.ToolResultBlockParam = {
			type: "tool_result",
			tool_use_id,
			content: "18 degrees",
			...CACHED,
		};
		const messages: Anthropic.MessageParam[] = [
			...asked.messages,
			{ role: "assistant", content },
			{ role: "user", content: [result] },
		];
		const answer = await client().messages.create({ ...thinking, messages });
		expect(answer.content.at(-1)).toMatchObject({ text: "The tools say: 18 degrees" });
		expect(providers.asked.at(-1)?.body).toMatchObject({
			thinking: { type: "enabled" },
			system: asked.system,
			messages: [asked.messages[0], { role: "assistant" }, { role: "user", content: [result] }],
			tools: [{ name: "weather", ...CACHED }],
		});
	});

	it("counts tokens without asking anybody", async () => {
		const { messages, system, tools } = asked;
		const counted = await client().messages.countTokens({
			model: CLAUDE,
			messages,
			...(system && { system }),
			...(tools && { tools }),
		});
		expect(counted.input_tokens).toBeGreaterThan(10);
		expect(providers.asked).toEqual([]);
	});

	it("says what Anthropic refuses", async () => {
		const failed = client().messages.create({ ...asked, thinking: { type: "enabled", budget_tokens: 4096 } });
		await expect(failed).rejects.toMatchObject({
			status: 400,
			error: {
				type: "error",
				error: { type: "invalid_request_error", message: expect.stringContaining("must be greater than") },
			},
			requestID: expect.any(String),
		});
	});
});

describe("OpenAI SDK", () => {
	const client = () =>
		new OpenAI({ baseURL: `${gateway.baseURL}/accounts/${ACCOUNT}/ai/v1`, apiKey: "none", maxRetries: 0 });
	const tools: OpenAI.ChatCompletionTool[] = [
		{
			type: "function",
			function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
		},
	];
	const question: OpenAI.ChatCompletionMessageParam = {
		role: "user",
		content: "What is the weather in Paris?",
	};

	it.each([CLAUDE, GEMINI])("chats with %s, whole and streamed", async (model) => {
		const completion = await client().chat.completions.create({ model, messages: [...ALICE] });
		expect(completion.choices[0]?.message.content).toBe("Your name is Alice.");
		const stream = client().chat.completions.stream({ model, messages: [...ALICE] });
		expect((await stream.finalMessage()).content).toBe("Your name is Alice.");
	});

	// Both providers refuse a call that comes back without its signature.
	it.each([CLAUDE, GEMINI])("calls a tool on %s and gives back what was signed", async (model) => {
		const asked = { model, tools, reasoning_effort: "low", max_tokens: 4096 } as const;
		const { choices } = await client().chat.completions.create({ ...asked, messages: [question] });
		const message = choices[0]?.message;
		const [call] = message?.tool_calls ?? [];
		if (!message || !call) throw new Error("nothing was called");
		const answer = await client().chat.completions.create({
			...asked,
			messages: [question, message, { role: "tool", tool_call_id: call.id, content: "18 degrees" }],
		});
		expect(answer.choices[0]?.message.content).toBe("The tools say: 18 degrees");
		const sent = JSON.stringify(providers.asked.at(-1)?.body);
		if (model === CLAUDE) expect(sent).toContain(`"signature":"${SIGNATURE}"`);
		else expect(sent).toContain('"thoughtSignature":"c2lnLW9mLWdlbWluaQ=="');
	});
});
