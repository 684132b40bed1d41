/** The `@anthropic-ai/sdk` as it is published, with only its `baseURL` changed. */
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, inject, it } from "vitest";
import { ACCOUNT } from "./gateway.ts";
import { RED_SQUARE } from "./suites/red-square.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const KIMI = "@cf/moonshotai/kimi-k2.6";
const ALICE: Anthropic.MessageParam[] = [
	{ role: "user", content: "My name is Alice." },
	{ role: "assistant", content: "Hello!" },
	{ role: "user", content: "Reply with exactly: Your name is Alice." },
];
const WEATHER: Anthropic.Tool = {
	name: "get_weather",
	description: "Get the current weather of a city",
	input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const max_tokens = 1024;

const clientAt = (path: string) =>
	new Anthropic({
		baseURL: `${inject("baseURL")}/accounts/${ACCOUNT}/${path}`,
		apiKey: "none",
		maxRetries: 0,
	});
const client = clientAt("ai");

const textOf = ({ content }: Anthropic.Message): string =>
	content.map((block) => (block.type === "text" ? block.text : "")).join("");
const callsOf = ({ content }: Anthropic.Message): Anthropic.ToolUseBlock[] =>
	content.filter((block) => block.type === "tool_use");

describe.each([LLAMA, KIMI])("Anthropic SDK on %s", (model) => {
	it("creates a message", async () => {
		const message = await client.messages.create({ model, max_tokens, messages: ALICE });
		expect(message).toMatchObject({ type: "message", role: "assistant", model, stop_reason: "end_turn" });
		expect(message._request_id).toMatch(/^[\da-f-]{36}$/);
		// Thoughts come only to those who ask for them: the first block is the answer.
		expect(message.content[0]).toMatchObject({ type: "text", text: expect.stringContaining("Alice") });
		expect(message.usage.input_tokens).toBeGreaterThan(0);
		expect(message.usage.output_tokens).toBeGreaterThan(0);
	});

	it("streams, and accumulates", async () => {
		const stream = client.messages.stream({ model, max_tokens, messages: ALICE });
		let pieces = 0;
		let last = "";
		stream.on("text", (_, snapshot) => {
			pieces++;
			last = snapshot;
		});
		const message = await stream.finalMessage();
		expect(textOf(message)).toContain("Alice");
		expect(last).toBe(textOf(message));
		expect(pieces).toBeGreaterThan(2);
		expect(message.stop_reason).toBe("end_turn");
		expect(message.usage.input_tokens).toBeGreaterThan(0);
		expect(message.usage.output_tokens).toBeGreaterThan(0);
	});

	it("streams the events themselves, in Anthropic's order", async () => {
		const stream = await client.messages.create({ model, max_tokens, messages: ALICE, stream: true });
		const types: string[] = [];
		for await (const { type } of stream) if (types.at(-1) !== type) types.push(type);
		expect(types).toEqual([
			"message_start",
			"content_block_start",
			"content_block_delta",
			"content_block_stop",
			"message_delta",
			"message_stop",
		]);
	});

	it("calls a tool and answers from its result, whole and streamed", async () => {
		const asked: Anthropic.MessageParam = { role: "user", content: 'Use get_weather with {"city":"Paris"}' };
		const whole = await client.messages.create({ model, max_tokens, messages: [asked], tools: [WEATHER] });
		const streamed = await client.messages
			.stream({ model, max_tokens, messages: [asked], tools: [WEATHER] })
			.finalMessage();
		for (const message of [whole, streamed]) {
			expect(message.stop_reason).toBe("tool_use");
			expect(callsOf(message)).toMatchObject([{ name: "get_weather", input: { city: "Paris" } }]);
		}
		const results = callsOf(streamed).map(
			({ id }): Anthropic.ToolResultBlockParam => ({
				type: "tool_result",
				tool_use_id: id,
				content: "18 degrees and sunny",
			}),
		);
		const answer = await client.messages.create({
			model,
			max_tokens,
			tools: [WEATHER],
			messages: [asked, { role: "assistant", content: streamed.content }, { role: "user", content: results }],
		});
		expect(textOf(answer)).toContain("18 degrees");
	});

	it("calls one tool after the other, one that is forced, or none", async () => {
		const ask = async (content: string, tool_choice: Anthropic.ToolChoice) => {
			const stream = client.messages.stream({
				model,
				max_tokens,
				messages: [{ role: "user", content }],
				tools: [WEATHER],
				tool_choice,
			});
			return callsOf(await stream.finalMessage()).map(({ input }) => input);
		};
		const both = 'Use get_weather with {"city":"Paris"}, then use get_weather with {"city":"London"}';
		expect(await ask(both, { type: "auto" })).toEqual([{ city: "Paris" }]);
		expect(await ask("Hello", { type: "tool", name: "get_weather" })).toHaveLength(1);
		expect(await ask("Hello", { type: "any" })).toHaveLength(1);
		expect(await ask(both, { type: "none" })).toEqual([]);
	});

	it("structures its output", async () => {
		const message = await client.messages.create({
			model,
			max_tokens,
			messages: [{ role: "user", content: 'Reply with exactly: {"name":"Alice","mood":"sad"}' }],
			output_config: {
				format: {
					type: "json_schema",
					schema: {
						type: "object",
						properties: { name: { type: "string" }, mood: { enum: ["happy", "sad"] } },
						required: ["name", "mood"],
						additionalProperties: false,
					},
				},
			},
		});
		expect(JSON.parse(textOf(message))).toEqual({ name: "Alice", mood: "sad" });
	});
});

describe("Anthropic SDK", () => {
	it("works from either base address", async () => {
		const message = await clientAt("ai/v1").messages.create({ model: LLAMA, max_tokens, messages: ALICE });
		expect(textOf(message)).toContain("Alice");
	});

	it("shows thoughts to those who ask for them, whole and streamed", async () => {
		const asked = {
			model: KIMI,
			max_tokens: 4096,
			messages: ALICE,
			thinking: { type: "enabled", budget_tokens: 2048 },
		} as const;
		for (const message of [
			await client.messages.create(asked),
			await client.messages.stream(asked).finalMessage(),
		]) {
			const [first, second] = message.content;
			expect(first).toMatchObject({ type: "thinking", thinking: expect.any(String) });
			expect(second).toMatchObject({ type: "text", text: expect.stringContaining("Alice") });
		}
	});

	it("sees an image", async () => {
		const data = Buffer.from(RED_SQUARE).toString("base64");
		const message = await client.messages.create({
			model: KIMI,
			max_tokens,
			messages: [
				{
					role: "user",
					content: [
						{ type: "text", text: "What is in this image?" },
						{ type: "image", source: { type: "base64", media_type: "image/png", data } },
					],
				},
			],
		});
		expect(textOf(message)).toContain("1 attachment");
	});

	it("is told the end of its limit", async () => {
		const message = await client.messages.create({ model: LLAMA, max_tokens: 2, messages: ALICE });
		expect(message.stop_reason).toBe("max_tokens");
		expect(message.usage.output_tokens).toBeLessThanOrEqual(2);
	});

	it("throws its own errors", async () => {
		const failure = (body: Partial<Anthropic.MessageCreateParamsNonStreaming>) =>
			client.messages.create({ model: LLAMA, max_tokens, messages: ALICE, ...body }).then(
				() => expect.fail("it was answered"),
				(error: unknown) => error,
			);
		const missing = await failure({ model: "@cf/none/such" });
		expect(missing).toBeInstanceOf(Anthropic.NotFoundError);
		expect(missing).toMatchObject({
			status: 404,
			error: { type: "error", error: { type: "not_found_error" } },
		});
		const malformed = await failure({ max_tokens: 0 });
		expect(malformed).toBeInstanceOf(Anthropic.BadRequestError);
		expect(malformed).toMatchObject({
			error: { error: { message: expect.stringContaining("max_tokens") } },
		});
	});
});

it("creates a batch, reads its results at their address, and deletes it", { timeout: 60_000 }, async () => {
	const { batches } = client.messages;
	const { id } = await batches.create({
		requests: ["one", "two"].map((custom_id) => ({
			custom_id,
			params: { model: LLAMA, max_tokens, messages: [{ role: "user", content: `Say ${custom_id}` }] },
		})),
	});
	await expect
		.poll(async () => (await batches.retrieve(id)).processing_status, { timeout: 50_000, interval: 200 })
		.toBe("ended");
	expect((await batches.retrieve(id)).request_counts).toMatchObject({ processing: 0, succeeded: 2 });
	const results = new Map<string, string>();
	for await (const { custom_id, result } of await batches.results(id))
		results.set(custom_id, result.type === "succeeded" ? textOf(result.message) : result.type);
	expect(results.get("one")).toContain("one");
	expect(results.get("two")).toContain("two");
	const listed: string[] = [];
	for await (const batch of batches.list({ limit: 1 })) listed.push(batch.id);
	expect(listed).toContain(id);
	expect((await batches.cancel(id)).processing_status).toBe("ended");
	expect(await batches.delete(id)).toEqual({ id, type: "message_batch_deleted" });
	await expect(batches.retrieve(id)).rejects.toBeInstanceOf(Anthropic.NotFoundError);
});
