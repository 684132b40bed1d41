/** `runWithTools` of `@cloudflare/ai-utils`, with the binding. It reads tool calls in the native flat form alone. */
import { runWithTools, tool } from "@cloudflare/ai-utils";
import { describe, expect, it, vi } from "vitest";
import { AI } from "./ai.ts";

/** Typed for an older `Ai`. */
type Arguments = Parameters<typeof runWithTools>;
const ask = (model: string, content: string, tools: object[], config?: Arguments[3]): Promise<unknown> =>
	runWithTools(
		AI as unknown as Arguments[0],
		model as Arguments[1],
		{ messages: [{ role: "user", content }], tools } as Arguments[2],
		config,
	);

const sum = vi.fn(async ({ a, b }: { a: number; b: number }) => String(a + b));
const calculator = tool({
	name: "sum",
	description: "Add two numbers",
	parameters: {
		type: "object",
		properties: {
			a: { type: "number", description: "the first number" },
			b: { type: "number", description: "the second number" },
		},
		required: ["a", "b"],
	} as const,
	function: sum,
});

const SUM = 'Use the sum tool with {"a":12.5,"b":30}';

describe.each(["@hf/nousresearch/hermes-2-pro-mistral-7b", "@cf/meta/llama-3.3-70b-instruct-fp8-fast"])(
	"runWithTools on %s",
	(model) => {
		it("runs the tool and answers from its result", async () => {
			sum.mockClear();
			const answer = await ask(model, SUM, [calculator]);
			expect(sum.mock.calls).toEqual([[{ a: 12.5, b: 30 }]]);
			expect(answer).toMatchObject({ response: expect.stringContaining("42.5") });
		});

		it("streams the last answer", async () => {
			const stream = await ask(model, SUM, [calculator], { streamFinalResponse: true });
			const events = await new Response(stream as ReadableStream).text();
			expect(events).toMatch(/data: \[DONE\]\n\n$/);
			const pieces = Array.from(
				events.matchAll(/^data: (\{.*)$/gm),
				([, data = ""]) => JSON.parse(data).response,
			);
			expect(pieces.length).toBeGreaterThan(2);
			expect(pieces.join("")).toContain("42.5");
		});

		it("runs only what its validation lets through", async () => {
			sum.mockClear();
			const { properties } = calculator.parameters;
			const strict = { strictValidation: true };
			await ask(model, SUM, [calculator], strict);
			expect(sum).toHaveBeenCalledOnce();
			// It wants every property, required or not.
			const unit = { type: "string", description: "the unit" };
			const choosy = {
				...calculator,
				parameters: { ...calculator.parameters, properties: { ...properties, unit } },
			};
			await ask(model, SUM, [choosy], strict);
			expect(sum).toHaveBeenCalledOnce();
		});

		it("runs tools one after the other, as often as it may", async () => {
			const weather = vi.fn(async ({ city }: { city: string }) => `18 degrees in ${city}`);
			const send = vi.fn(async (_: { to: string; body: string }) => "sent");
			const tools = [
				{
					name: "get_weather",
					description: "Get the weather of a city",
					parameters: {
						type: "object",
						properties: { city: { type: "string", description: "the city" } },
						required: ["city"],
					},
					function: weather,
				},
				{
					name: "send_email",
					description: "Send an email",
					parameters: {
						type: "object",
						properties: {
							to: { type: "string", description: "the address" },
							body: { type: "string", description: "the text" },
						},
						required: ["to", "body"],
					},
					function: send,
				},
			];
			const both =
				'Use get_weather with {"city":"Paris"}. Then use send_email with {"to":"bob@example.com","body":"Hi"}';
			await ask(model, both, tools);
			expect([weather.mock.calls.length, send.mock.calls.length]).toEqual([1, 0]);
			await ask(model, both, tools, { maxRecursiveToolRuns: 2 });
			expect([weather.mock.calls.length, send.mock.calls.length]).toEqual([2, 1]);
			expect(send.mock.calls[0]).toEqual([{ to: "bob@example.com", body: "Hi" }]);
		});

		it("goes on when a tool fails", async () => {
			sum.mockRejectedValueOnce(new Error("out of paper"));
			const answer = await ask(model, SUM, [calculator]);
			expect(answer).toMatchObject({ response: expect.stringContaining("out of paper") });
		});
	},
);

it("runWithTools tells a failure with our code", async () => {
	await expect(ask("@cf/meta/nothing", "Hi", [calculator])).rejects.toThrow(
		"5007: No such model @cf/meta/nothing or task",
	);
});
