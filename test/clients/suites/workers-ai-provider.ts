/** `workers-ai-provider` under the `ai` package: what the AI SDK asks of a provider, whichever way it reaches us. */
import {
	APICallError,
	generateObject,
	generateText,
	type ModelMessage,
	Output,
	stepCountIs,
	streamText,
	tool,
} from "ai";
import { describe, expect, it, vi } from "vitest";
import type { WorkersAI } from "workers-ai-provider";
import * as z from "zod";
import { RED_SQUARE } from "./red-square.ts";

/** One model of each output form, in which their tool calls differ, too. */
const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const SCOUT = "@cf/meta/llama-4-scout-17b-16e-instruct";
const KIMI = "@cf/moonshotai/kimi-k2.6";
const GPT_OSS = "@cf/openai/gpt-oss-120b";

const ALICE: ModelMessage[] = [
	{ role: "user", content: "My name is Alice." },
	{ role: "assistant", content: "Hello!" },
	{ role: "user", content: "Reply with exactly: Your name is Alice." },
];
const weather = tool({
	description: "Get the current weather of a city",
	inputSchema: z.object({ city: z.string() }),
	execute: async ({ city }) => `18 degrees and sunny in ${city}`,
});
const { execute: _, ...weatherOfTheCaller } = weather;
const calculator = tool({
	description: "Calculate with two numbers",
	inputSchema: z.object({
		operation: z.enum(["add", "subtract", "multiply", "divide"]),
		a: z.number(),
		b: z.number(),
	}),
	execute: async ({ operation, a, b }) =>
		({ add: a + b, subtract: a - b, multiply: a * b, divide: a / b })[operation],
});
const Household = z.object({
	name: z.string(),
	mood: z.enum(["happy", "sad"]),
	pets: z.array(z.object({ name: z.string(), kind: z.enum(["cat", "dog"]) })),
});

export function workersAiProvider(way: "REST" | "binding", connect: () => WorkersAI): void {
	describe.each([LLAMA, SCOUT, KIMI, GPT_OSS])(`workers-ai-provider by ${way} on %s`, (id) => {
		const model = () => connect()(id);
		// The native form has no reason why it ends, the product's neither: the provider says "stop" then.
		const isNative = id === LLAMA || id === SCOUT;

		it("chats, and recalls an earlier turn", async () => {
			const { text, finishReason, usage, warnings } = await generateText({
				model: model(),
				messages: ALICE,
				maxOutputTokens: 500,
				temperature: 0.5,
				topP: 0.9,
			});
			expect(text).toContain("Alice");
			expect(finishReason).toBe("stop");
			expect(usage.inputTokens).toBeGreaterThan(0);
			expect(usage.outputTokens).toBeGreaterThan(0);
			expect(warnings).toEqual([]);
		});

		it("streams in pieces", async () => {
			const result = streamText({ model: model(), messages: ALICE });
			const pieces: string[] = [];
			for await (const piece of result.textStream) pieces.push(piece);
			expect(pieces.join("")).toContain("Alice");
			expect(pieces.length).toBeGreaterThan(2);
			expect(await result.finishReason).toBe("stop");
			expect((await result.usage).outputTokens).toBeGreaterThan(0);
		});

		it("cuts at the limit of tokens", async () => {
			const { finishReason, usage } = await generateText({
				model: model(),
				prompt: "Tell me a long story about the sea.",
				maxOutputTokens: 3,
			});
			expect(usage.outputTokens).toBe(3);
			expect(finishReason).toBe(isNative ? "stop" : "length");
		});

		it("calls a tool and goes on from its result", async () => {
			const { steps, text } = await generateText({
				model: model(),
				prompt: 'Use the weather tool with {"city":"Paris"}',
				tools: { weather },
				stopWhen: stepCountIs(3),
			});
			expect(steps.map(({ finishReason }) => finishReason)).toEqual([
				isNative ? "stop" : "tool-calls",
				"stop",
			]);
			expect(steps[0]?.toolCalls).toMatchObject([{ toolName: "weather", input: { city: "Paris" } }]);
			expect(text).toContain("18 degrees");
		});

		it("streams the steps of a tool call", async () => {
			const result = streamText({
				model: model(),
				prompt: 'Use the weather tool with {"city":"Paris"}',
				tools: { weather },
				stopWhen: stepCountIs(3),
			});
			const types = new Set<string>();
			for await (const { type } of result.fullStream) types.add(type);
			expect([...types]).toEqual(expect.arrayContaining(["tool-input-delta", "tool-call", "tool-result"]));
			expect((await result.steps)[0]?.toolCalls).toMatchObject([{ input: { city: "Paris" } }]);
			expect(await result.text).toContain("18 degrees");
		});

		it("calls one tool after the other", async () => {
			const sent = vi.fn();
			const send_email = tool({
				description: "Send an email",
				inputSchema: z.object({ to: z.string(), body: z.string() }),
				execute: async (mail) => {
					sent(mail);
					return "sent";
				},
			});
			const { steps } = await generateText({
				model: model(),
				prompt: 'Use the weather tool with {"city":"Paris"}. Then use send_email.',
				tools: { weather, send_email },
				stopWhen: stepCountIs(5),
			});
			const called = steps.map(({ toolCalls }) => toolCalls.map(({ toolName }) => toolName));
			expect(called).toEqual([["weather"], ["send_email"], []]);
			expect(sent.mock.calls).toEqual([[{ to: "simulated to", body: "simulated body" }]]);
		});

		it("takes the arguments of a call from the text", async () => {
			const ask = (prompt: string) =>
				generateText({ model: model(), prompt, tools: { calculator, weather }, stopWhen: stepCountIs(3) });
			const product = await ask('Use the calculator tool with {"operation":"multiply","a":12.5,"b":4}');
			expect(product.toolCalls).toMatchObject([{ input: { operation: "multiply", a: 12.5, b: 4 } }]);
			expect(product.text).toContain("50");
			const difference = await ask('Use the calculator tool with {"operation":"subtract","a":42,"b":17}');
			expect(difference.toolCalls).toMatchObject([{ input: { operation: "subtract", a: 42, b: 17 } }]);
			expect(difference.text).toContain("25");
		});

		it.each([
			["required", "required"],
			["forced by name", { type: "tool", toolName: "weather" }],
		] as const)("calls a tool when it is %s", async (_, toolChoice) => {
			const { toolCalls } = await generateText({
				model: model(),
				prompt: "Hello there",
				tools: { weather: weatherOfTheCaller },
				toolChoice,
			});
			expect(toolCalls).toMatchObject([{ toolName: "weather", input: { city: expect.any(String) } }]);
			const streamed = streamText({
				model: model(),
				prompt: "Hello there",
				tools: { weather: weatherOfTheCaller },
				toolChoice,
			});
			expect(await streamed.toolCalls).toMatchObject([{ toolName: "weather" }]);
		});

		it("calls no tool when none may be called", async () => {
			const { toolCalls, text } = await generateText({
				model: model(),
				prompt: 'Use the weather tool with {"city":"Paris"}',
				tools: { weather: weatherOfTheCaller },
				toolChoice: "none",
			});
			expect(toolCalls).toEqual([]);
			expect(text).not.toBe("");
		});

		it("structures its output, with nested lists and enums", async () => {
			const expected = {
				name: "Alice",
				mood: "sad",
				pets: [
					{ name: "Rex", kind: "dog" },
					{ name: "Tom", kind: "cat" },
				],
			};
			const prompt = `Reply with exactly: ${JSON.stringify(expected)}`;
			const { output } = await generateText({
				model: model(),
				prompt,
				output: Output.object({ schema: Household }),
			});
			expect(output).toEqual(expected);
			const streamed = streamText({ model: model(), prompt, output: Output.object({ schema: Household }) });
			const partial: unknown[] = [];
			for await (const part of streamed.partialOutputStream) partial.push(part);
			expect(partial.length).toBeGreaterThan(2);
			expect(await streamed.output).toEqual(output);
			const { object } = await generateObject({ model: model(), prompt, schema: Household });
			expect(object).toEqual(output);
		});

		it("structures a list and a choice", async () => {
			const { object } = await generateObject({
				model: model(),
				prompt: 'Reply with exactly: {"elements":["red","green","blue"]}',
				output: "array",
				schema: z.string(),
			});
			expect(object).toEqual(["red", "green", "blue"]);
			const choice = await generateObject({
				model: model(),
				prompt: 'Reply with exactly: {"result":"negative"}',
				output: "enum",
				enum: ["positive", "negative"],
			});
			expect(choice.object).toBe("negative");
		});
	});

	describe(`workers-ai-provider by ${way}`, () => {
		it.each([SCOUT, KIMI])("sees an image with %s", async (id) => {
			const { text } = await generateText({
				model: connect()(id),
				messages: [
					{
						role: "user",
						content: [
							{ type: "text", text: "What is in this image?" },
							{ type: "file", data: RED_SQUARE, mediaType: "image/png" },
						],
					},
				],
			});
			expect(text).toContain("1 attachment");
		});

		it("passes reasoning on", async () => {
			const ask = (reasoning: "none" | "high") =>
				generateText({ model: connect()(KIMI), messages: ALICE, reasoning });
			expect((await ask("high")).reasoningText).toBeTruthy();
			expect((await ask("none")).reasoningText).toBeUndefined();
		});

		it.each(["@cf/mistralai/mistral-small-3.1-24b-instruct", "@cf/qwen/qwq-32b"])(
			"gets text from %s, which has no response_format",
			async (id) => {
				const output = Output.object({ schema: Household });
				const described = generateText({ model: connect()(id), prompt: "Describe Alice.", output });
				await expect(described).rejects.toThrow("No object generated");
			},
		);

		it("tells failures by their status and code", async () => {
			const failed = generateText({ model: connect()("@cf/meta/nothing"), prompt: "Hi", maxRetries: 0 });
			const error = await failed.catch((thrown: unknown) => thrown);
			expect(APICallError.isInstance(error)).toBe(true);
			expect(error).toMatchObject({
				statusCode: 400,
				isRetryable: false,
				message: expect.stringContaining("No such model @cf/meta/nothing or task"),
			});
		});

		it("stops when the caller aborts", async () => {
			const leaving = new AbortController();
			const { fullStream } = streamText({
				model: connect()(LLAMA),
				prompt: "Tell me a long story about the sea.",
				abortSignal: leaving.signal,
			});
			const types: string[] = [];
			for await (const { type } of fullStream) {
				types.push(type);
				if (type === "text-delta") leaving.abort();
			}
			expect(types.at(-1)).toBe("abort");
		});
	});
}
