/** `workers-ai-provider` under the `ai` package on models that a route sends to Anthropic and to Google. */
import { generateObject, generateText, type ModelMessage, Output, stepCountIs, streamText, tool } from "ai";
import { describe, expect, it, vi } from "vitest";
import type { WorkersAI } from "workers-ai-provider";
import * as z from "zod";
import { DOCUMENT } from "../providers/mind.ts";
import { GEMINI, KIMI, LLAMA, SCOUT, SERVED } from "../providers/routes.ts";

const ALICE: ModelMessage[] = [
	{ role: "user", content: "My name is Alice." },
	{ role: "assistant", content: "Hello!" },
	{ role: "user", content: "What is my name?" },
];
const weather = tool({
	description: "Get the current weather of a city",
	inputSchema: z.object({ city: z.string() }),
	execute: async ({ city }) => `18 degrees in ${city}`,
});
const Household = z.object({
	name: z.string(),
	mood: z.enum(["happy", "sad"]),
	pets: z.array(z.object({ name: z.string(), kind: z.enum(["cat", "dog"]) })),
});

export function onProviders(way: "REST" | "binding", connect: () => WorkersAI): void {
	const models = Object.entries(SERVED)
		.flatMap(([provider, ids]) => ids.map((id) => [provider, id] as const))
		// By REST it asks AI Gateway's own host for models of third parties.
		.filter(([, id]) => way === "binding" || id.startsWith("@"));
	describe.each(models)(`workers-ai-provider by ${way}, on %s as %s`, (_, id) => {
		const model = () => connect()(id);
		// The native form has no reason why it ends: the provider says "stop" then.
		const isNative = id === LLAMA || id === SCOUT;
		const calls = isNative ? "stop" : "tool-calls";

		it("chats, and recalls an earlier turn", async () => {
			const { text, finishReason, usage } = await generateText({
				model: model(),
				system: "Be short.",
				messages: ALICE,
				maxOutputTokens: 500,
				temperature: 0.5,
				topP: 0.9,
			});
			expect(text).toBe("Your name is Alice.");
			expect(finishReason).toBe("stop");
			expect(usage.inputTokens).toBeGreaterThan(0);
			expect(usage.outputTokens).toBeGreaterThan(0);
		});

		it("streams in pieces", async () => {
			const result = streamText({ model: model(), messages: ALICE });
			const pieces: string[] = [];
			for await (const piece of result.textStream) pieces.push(piece);
			expect(pieces.join("")).toBe("Your name is Alice.");
			expect(pieces.length).toBeGreaterThan(2);
			expect(await result.finishReason).toBe("stop");
			expect((await result.usage).outputTokens).toBeGreaterThan(0);
		});

		it("calls a tool, several times at once, and goes on from its results", async () => {
			const { steps, text } = await generateText({
				model: model(),
				prompt: "What is the weather in Paris and in London?",
				tools: { weather },
				stopWhen: stepCountIs(3),
			});
			expect(steps.map(({ finishReason }) => finishReason)).toEqual([calls, "stop"]);
			expect(steps[0]?.toolCalls.map(({ input }) => input)).toEqual([{ city: "Paris" }, { city: "London" }]);
			expect(text).toBe("The tools say: 18 degrees in Paris; 18 degrees in London");
		});

		it("streams the steps of a tool call, one tool after the other", async () => {
			const sent = vi.fn();
			const email = tool({
				description: "Send an email",
				inputSchema: z.object({ to: z.string(), body: z.string() }),
				execute: async (mail) => {
					sent(mail);
					return "sent";
				},
			});
			const result = streamText({
				model: model(),
				prompt: "What is the weather in Paris? Then send an email with it.",
				tools: { weather, email },
				stopWhen: stepCountIs(5),
			});
			const types = new Set<string>();
			for await (const { type } of result.fullStream) types.add(type);
			expect([...types]).toEqual(expect.arrayContaining(["tool-input-delta", "tool-call", "tool-result"]));
			const called = (await result.steps).map(({ toolCalls }) => toolCalls.map(({ toolName }) => toolName));
			expect(called).toEqual([["weather"], ["email"], []]);
			expect(sent.mock.calls).toEqual([[{ to: "bob@example.com", body: "18 degrees in Paris" }]]);
			expect(await result.text).toBe("The tools say: 18 degrees in Paris; sent");
		});

		it("calls a tool that must be called, and none where none may be", async () => {
			const { execute: _execute, ...weatherOfTheCaller } = weather;
			const tools = { weather: weatherOfTheCaller };
			for (const toolChoice of ["required", { type: "tool", toolName: "weather" }] as const) {
				const { toolCalls } = await generateText({ model: model(), prompt: "Hello", tools, toolChoice });
				expect(toolCalls).toMatchObject([{ toolName: "weather", input: { city: "Paris" } }]);
			}
			const prompt = "What is the weather in Paris?";
			const { text, toolCalls } = await generateText({ model: model(), prompt, tools, toolChoice: "none" });
			expect([text, toolCalls]).toEqual(["I do not know.", []]);
		});

		it("structures its output, whole and streamed", async () => {
			const prompt = "Describe the household.";
			const output = Output.object({ schema: Household });
			expect((await generateText({ model: model(), prompt, output })).output).toEqual(DOCUMENT);
			const streamed = streamText({ model: model(), prompt, output });
			const partial: unknown[] = [];
			for await (const part of streamed.partialOutputStream) partial.push(part);
			expect(partial.length).toBeGreaterThan(2);
			expect(await streamed.output).toEqual(DOCUMENT);
			expect((await generateObject({ model: model(), prompt, schema: Household })).object).toEqual(DOCUMENT);
		});
	});

	it.each(way === "binding" ? [KIMI, GEMINI] : [KIMI])(
		`workers-ai-provider by ${way} shows what %s thinks`,
		async (id) => {
			const ask = { model: connect()(id), messages: ALICE, reasoning: "high" } as const;
			const thoughts = "The user wants to be answered.";
			expect((await generateText(ask)).reasoningText).toBe(thoughts);
			const streamed = streamText(ask);
			await streamed.consumeStream();
			expect(await streamed.reasoningText).toBe(thoughts);
		},
	);
}
