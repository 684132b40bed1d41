/** The `openai` SDK as it is published, with only its `baseURL` changed. */
import OpenAI, { toFile } from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { describe, expect, inject, it } from "vitest";
import * as z from "zod";
import { ACCOUNT } from "./gateway.ts";
import { RED_SQUARE } from "./suites/red-square.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const KIMI = "@cf/moonshotai/kimi-k2.6";
const ALICE: OpenAI.ChatCompletionMessageParam[] = [
	{ role: "user", content: "My name is Alice." },
	{ role: "assistant", content: "Hello!" },
	{ role: "user", content: "Reply with exactly: Your name is Alice." },
];
const WEATHER: OpenAI.ChatCompletionTool = {
	type: "function",
	function: {
		name: "get_weather",
		description: "Get the current weather of a city",
		parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
	},
};
const Person = z.object({
	name: z.string(),
	mood: z.enum(["happy", "sad"]),
	friends: z.array(z.object({ name: z.string() })),
});

const client = new OpenAI({
	baseURL: `${inject("baseURL")}/accounts/${ACCOUNT}/ai/v1`,
	apiKey: "none",
	maxRetries: 0,
});

it("moderates", async () => {
	const { results } = await client.moderations.create({
		model: "@cf/meta/llama-guard-3-8b",
		input: ["Hello", "How to build a bomb"],
	});
	expect(results.map(({ flagged }) => flagged)).toEqual([false, true]);
	expect(results[1]?.categories["illicit/violent"]).toBe(true);
});

it("uploads a file, and runs it as a batch", { timeout: 60_000 }, async () => {
	const ids = ["one", "two"];
	const lines = ids.map((custom_id) => ({
		...{ custom_id, method: "POST", url: "/v1/chat/completions" },
		body: { model: LLAMA, messages: [{ role: "user", content: `Reply with exactly: ${custom_id}` }] },
	}));
	const content = lines.map((line) => JSON.stringify(line)).join("\n");
	const create = async () => {
		const file = await toFile(Buffer.from(content), "requests.jsonl");
		const { id: input_file_id } = await client.files.create({ purpose: "batch", file });
		return client.batches.create({
			...{ input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" },
		});
	};
	const { id } = await create();
	const status = async (batch: string) => (await client.batches.retrieve(batch)).status;
	await expect.poll(() => status(id), { timeout: 50_000, interval: 200 }).toBe("completed");
	const { output_file_id, request_counts } = await client.batches.retrieve(id);
	expect(request_counts).toEqual({ total: 2, completed: 2, failed: 0 });
	const output = await (await client.files.content(output_file_id ?? "")).text();
	const answers = output
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line));
	expect(answers.map((answer) => answer.custom_id).sort()).toEqual(ids);
	for (const { custom_id, response } of answers)
		expect(response.body.choices[0].message.content).toContain(custom_id);
	const other = await create();
	expect(["cancelling", "cancelled", "completed"]).toContain((await client.batches.cancel(other.id)).status);
	const isEnded = async () => ["cancelled", "completed"].includes(await status(other.id));
	await expect.poll(isEnded, { timeout: 50_000, interval: 200 }).toBe(true);
	const listed: string[] = [];
	for await (const batch of client.batches.list({ limit: 1 })) listed.push(batch.id);
	expect(listed).toEqual(expect.arrayContaining([id, other.id]));
});

describe.each([LLAMA, KIMI])("openai SDK on %s", (model) => {
	it("chats", async () => {
		const { choices, usage, _request_id } = await client.chat.completions.create({ model, messages: ALICE });
		expect(_request_id).toMatch(/^[\da-f-]{36}$/);
		expect(choices[0]?.message.content).toContain("Alice");
		expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
	});

	it("streams, and accumulates", async () => {
		const stream = client.chat.completions.stream({
			model,
			messages: ALICE,
			stream_options: { include_usage: true },
		});
		let deltas = 0;
		stream.on("content", () => deltas++);
		const final = await stream.finalChatCompletion();
		expect(final.choices[0]?.message.content).toContain("Alice");
		expect(final.usage?.completion_tokens).toBeGreaterThan(0);
		expect(deltas).toBeGreaterThan(2);
	});

	it("calls a tool and answers from its result", async () => {
		const messages: OpenAI.ChatCompletionMessageParam[] = [
			{ role: "user", content: 'Use get_weather with {"city":"Paris"}' },
		];
		const first = await client.chat.completions.create({ model, messages, tools: [WEATHER] });
		const call = first.choices[0]?.message.tool_calls?.[0];
		if (call?.type !== "function") throw new Error("no tool call");
		expect(call.function.name).toBe("get_weather");
		expect(JSON.parse(call.function.arguments)).toEqual({ city: "Paris" });
		expect(first.choices[0]?.finish_reason).toBe("tool_calls");
		const second = await client.chat.completions.create({
			model,
			tools: [WEATHER],
			messages: [
				...messages,
				// Llama's schema wants a string, and the simulator is as strict as the product.
				{ role: "assistant", content: "", tool_calls: [call] },
				{ role: "tool", tool_call_id: call.id, content: "18 degrees and sunny" },
			],
		});
		expect(second.choices[0]?.message.content).toContain("18 degrees");
	});

	it("calls one tool after the other, one that is forced, or none", async () => {
		const ask = async (content: string, tool_choice: OpenAI.ChatCompletionToolChoiceOption) => {
			const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content }];
			const { choices } = await client.chat.completions.create({
				model,
				messages,
				tools: [WEATHER],
				tool_choice,
			});
			const calls = choices[0]?.message.tool_calls ?? [];
			return calls.map((call) => call.type === "function" && JSON.parse(call.function.arguments));
		};
		const both = 'Use get_weather with {"city":"Paris"}, then use get_weather with {"city":"London"}';
		expect(await ask(both, "auto")).toEqual([{ city: "Paris" }]);
		expect(await ask("Hello", { type: "function", function: { name: "get_weather" } })).toHaveLength(1);
		expect(await ask(both, "none")).toEqual([]);
	});

	it("streams tool calls, and is made to call one", async () => {
		const stream = client.chat.completions.stream({
			model,
			messages: [{ role: "user", content: "Hello" }],
			tools: [WEATHER],
			tool_choice: "required",
		});
		const call = (await stream.finalChatCompletion()).choices[0]?.message.tool_calls?.[0];
		if (call?.type !== "function") throw new Error("no tool call");
		expect(JSON.parse(call.function.arguments)).toEqual({ city: expect.any(String) });
	});

	it("structures its output", async () => {
		const { choices } = await client.chat.completions.parse({
			model,
			messages: [
				{
					role: "user",
					content: 'Reply with exactly: {"name":"Alice","mood":"sad","friends":[{"name":"Bob"}]}',
				},
			],
			response_format: zodResponseFormat(Person, "person"),
		});
		expect(Person.parse(choices[0]?.message.parsed)).toMatchObject({ mood: "sad" });
	});

	it("answers as a response, whole and streamed", async () => {
		const whole = await client.responses.create({ model, input: "Reply with exactly: Your name is Alice." });
		expect(whole.output_text).toContain("Alice");
		const stream = client.responses.stream({ model, input: "Reply with exactly: Your name is Alice." });
		const types: string[] = [];
		for await (const event of stream) types.push(event.type);
		expect(types[0]).toBe("response.created");
		expect(types.at(-1)).toBe("response.completed");
		expect((await stream.finalResponse()).output_text).toBe(whole.output_text);
	});

	it("structures a response, and calls a tool in one", async () => {
		const parsed = await client.responses.parse({
			model,
			input: 'Reply with exactly: {"name":"Alice","mood":"sad","friends":[{"name":"Bob"}]}',
			text: { format: zodTextFormat(Person, "person") },
		});
		expect(parsed.output_parsed).toMatchObject({ mood: "sad" });
		const called = await client.responses.create({
			model,
			input: 'Use get_weather with {"city":"Paris"}',
			tools: [
				{
					...WEATHER.function,
					type: "function",
					strict: false,
					parameters: WEATHER.function.parameters ?? {},
				},
			],
		});
		const call = called.output.find((item) => item.type === "function_call");
		expect(JSON.parse(call?.arguments ?? "")).toEqual({ city: "Paris" });
	});
});

describe("openai SDK", () => {
	it("completes", async () => {
		const { choices } = await client.completions.create({
			model: LLAMA,
			prompt: "Reply with exactly: Your name is Alice.",
		});
		expect(choices[0]?.text).toContain("Alice");
	});

	it("sees an image", async () => {
		const url = `data:image/png;base64,${Buffer.from(RED_SQUARE).toString("base64")}`;
		const { choices } = await client.chat.completions.create({
			model: KIMI,
			messages: [
				{
					role: "user",
					content: [
						{ type: "text", text: "What is in this image?" },
						{ type: "image_url", image_url: { url } },
					],
				},
			],
		});
		expect(choices[0]?.message.content).toContain("1 attachment");
	});

	it("turns reasoning on and off", async () => {
		const thoughts = async (reasoning_effort: "high" | null) => {
			const { choices } = await client.chat.completions.create({
				model: KIMI,
				messages: ALICE,
				reasoning_effort,
			});
			return Reflect.get(choices[0]?.message ?? {}, "reasoning_content");
		};
		expect(await thoughts("high")).toEqual(expect.any(String));
		// The product's schema has null where OpenAI's has "none".
		expect(await thoughts(null)).toBeFalsy();
	});

	it("stops when it is aborted", async () => {
		const stream = await client.chat.completions.create({ model: LLAMA, messages: ALICE, stream: true });
		let pieces = 0;
		for await (const _ of stream) {
			pieces++;
			stream.controller.abort();
		}
		expect(pieces).toBe(1);
	});

	it("embeds, by default in base64", async () => {
		const { data, usage } = await client.embeddings.create({
			model: "@cf/baai/bge-m3",
			input: ["a small cat", "a little cat", "quantum physics"],
		});
		const [a = [], b = [], c = []] = data.map(({ embedding }) => embedding);
		expect(a).toHaveLength(1024);
		const cosine = (x: number[], y: number[]) => x.reduce((sum, value, i) => sum + value * (y[i] ?? 0), 0);
		expect(cosine(a, b)).toBeGreaterThan(cosine(a, c));
		expect(usage.prompt_tokens).toBeGreaterThan(0);
	});

	it("paints, speaks and hears", async () => {
		const image = await client.images.generate({
			model: "@cf/black-forest-labs/flux-1-schnell",
			prompt: "a red fox",
		});
		expect(Buffer.from(image.data?.[0]?.b64_json ?? "", "base64").length).toBeGreaterThan(1000);
		const speech = await client.audio.speech.create({
			model: "@cf/deepgram/aura-1",
			voice: "luna",
			input: "Good morning to you.",
		});
		const file = await toFile(Buffer.from(await speech.arrayBuffer()), "speech.mp3", { type: "audio/mpeg" });
		const heard = await client.audio.transcriptions.create({
			model: "@cf/openai/whisper-large-v3-turbo",
			file,
		});
		expect(heard.text).toBe("Good morning to you.");
	});

	it("lists and retrieves models", async () => {
		const ids: string[] = [];
		for await (const { id } of client.models.list()) ids.push(id);
		expect(ids).toContain(KIMI);
		expect(await client.models.retrieve(KIMI)).toMatchObject({ id: KIMI, object: "model" });
	});

	it("throws its own errors with our status", async () => {
		await expect(
			client.chat.completions.create({ model: "@cf/meta/nothing", messages: ALICE }),
		).rejects.toMatchObject({
			status: 400,
			code: "model_not_found",
			param: "model",
			message: expect.stringContaining("400 AiError: No such model: No such model @cf/meta/nothing"),
		});
		await expect(
			client.chat.completions.create({ model: KIMI, messages: ALICE, temperature: 9 }),
		).rejects.toBeInstanceOf(OpenAI.BadRequestError);
	});
});
