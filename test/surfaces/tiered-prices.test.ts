/** Bills at the prices of long inputs and of writes to a cache, in values and in streams, and the reservations before them. */
import { describe, expect, it } from "vitest";
import { type TestGateway, testGateway, upstream } from "../gateway.ts";

const OPENAI = { OPENAI_API_KEY: "sk-openai", PROVIDER_KEYS: { openai: "OPENAI_API_KEY" } };
const ANTHROPIC = { ANTHROPIC_API_KEY: "sk-ant-key", PROVIDER_KEYS: { anthropic: "ANTHROPIC_API_KEY" } };
const XAI = { XAI_API_KEY: "xai-key", PROVIDER_KEYS: { xai: "XAI_API_KEY" } };
const message = (content: string) => [{ role: "user", content }];
/** About 300,000 tokens, because the counts of an engine must fit the prompt. */
const LONG = "a b c d e f g h i j ".repeat(30_000);

const completion = (usage: object) => ({
	id: "chatcmpl-1",
	object: "chat.completion",
	choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Alice." } }],
	usage,
});
const streamOf = (usage: object): Response =>
	new Response(
		[
			{ choices: [{ index: 0, delta: { role: "assistant", content: "Alice." }, finish_reason: null }] },
			{ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
			{ choices: [], usage },
		]
			.map((chunk) => `data: ${JSON.stringify({ object: "chat.completion.chunk", ...chunk })}\n\n`)
			.concat("data: [DONE]\n\n")
			.join(""),
		{ headers: { "content-type": "text/event-stream" } },
	);

/** OpenAI, whole or streamed, with these counts. */
const openai = (usage: object) =>
	upstream(async (request) => {
		const { stream } = await request.clone().json<{ stream?: boolean }>();
		return stream ? streamOf(usage) : Response.json(completion(usage));
	}).fetch;

async function neuronsOf(gateway: TestGateway, body: Record<string, unknown>): Promise<number> {
	const response = await gateway.post("/v1/chat/completions", body);
	const text = await response.text();
	expect(response.status, text).toBe(200);
	return Number(/"neurons":([\d.]+)/.exec(text)?.[1]);
}

describe("a chat with gpt-6-luna", () => {
	const usage = {
		prompt_tokens: 100,
		completion_tokens: 10,
		total_tokens: 110,
		prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 30 },
	};
	const body = { model: "openai/gpt-6-luna", messages: message("Hi") };

	it.each([
		["whole", {}],
		["streamed", { stream: true, stream_options: { include_usage: true } }],
	])("%s: tokens that were written to the cache have their own price", async (_, fields) => {
		const gateway = testGateway({ vars: OPENAI, fetch: openai(usage) });
		// (30 * 0.1 + 40 * 0.01 + 30 * 0.125 + 10 * 0.5) / 1,000,000 = 0.00001215 dollars = 1.1045 neurons
		expect(await neuronsOf(gateway, { ...body, ...fields })).toBe(1.1);
	});

	it("costs the long prices for its whole input and output above 272,000 tokens", async () => {
		const long = { prompt_tokens: 280_000, completion_tokens: 1_000, total_tokens: 281_000 };
		const gateway = testGateway({ vars: OPENAI, fetch: openai(long) });
		// (280000 * 0.2 + 1000 * 0.75) / 1,000,000 = 0.05675 dollars = 5159.09 neurons
		expect(await neuronsOf(gateway, { ...body, messages: message(LONG) })).toBe(5159.09);
	});
});

describe("a message to claude-opus-5.5", () => {
	it("has the price of cache writes", async () => {
		const { fetch } = upstream(() =>
			Response.json({
				id: "msg_1",
				type: "message",
				role: "assistant",
				model: "claude-opus-5-5",
				content: [{ type: "text", text: "Alice." }],
				stop_reason: "end_turn",
				usage: {
					input_tokens: 30,
					cache_creation_input_tokens: 1_000,
					cache_read_input_tokens: 500,
					output_tokens: 10,
				},
			}),
		);
		const response = await testGateway({ vars: ANTHROPIC, fetch }).post("/v1/messages", {
			model: "anthropic/claude-opus-5.5",
			max_tokens: 64,
			messages: message("Hi"),
		});
		const { usage } = await response.json<{ usage: object }>();
		// (30 * 4 + 500 * 0.2 + 1000 * 5 + 10 * 20) / 1,000,000 = 0.00542 dollars = 492.727 neurons
		expect(usage).toEqual({
			input_tokens: 30,
			cache_creation_input_tokens: 1_000,
			cache_read_input_tokens: 500,
			output_tokens: 10,
			neurons: 492.72,
		});
	});
});

describe("a chat with grok-4.6", () => {
	it("pays for reasoning that the provider counts only in the total", async () => {
		const usage = {
			prompt_tokens: 214,
			completion_tokens: 220,
			total_tokens: 870,
			prompt_tokens_details: { text_tokens: 214, cached_tokens: 128 },
			completion_tokens_details: { reasoning_tokens: 436 },
		};
		const gateway = testGateway({ vars: XAI, fetch: openai(usage) });
		// The provider's own bill: (86 * 2 + 128 * 0.5 + 656 * 6) / 1,000,000 = 0.004172 dollars = 379.27 neurons
		const body = { model: "xai/grok-4.6", messages: message("What are the laws of thermodynamics?") };
		expect(await neuronsOf(gateway, body)).toBe(379.27);
	});
});

describe("prices of MODELS above a number of tokens", () => {
	const vars = {
		BACKENDS: { gpu: { kind: "openai", url: "http://gpu/v1" } },
		ROUTES: { "acme/long": [{ backend: "gpu" }] },
		MODELS: {
			"acme/long": {
				task: "Text Generation",
				prices: [
					{ unit: "per M input tokens", neurons: 1_000_000 },
					{ unit: "per M input tokens", neurons: 2_000_000, above_input_tokens: 50 },
					{ unit: "per M cache write tokens", neurons: 3_000_000 },
					{ unit: "per M output tokens", neurons: 10_000_000 },
				],
			},
		},
	};
	const usage = (prompt_tokens: number) => ({
		prompt_tokens,
		completion_tokens: 1,
		total_tokens: prompt_tokens + 1,
	});
	const body = { model: "acme/long", messages: message("Hi"), max_tokens: 1 };

	it("bill each request by its input", async () => {
		// 50 * 1 + 1 * 10
		expect(await neuronsOf(testGateway({ vars, fetch: openai(usage(50)) }), body)).toBe(60);
		// 51 * 2 + 1 * 10
		expect(await neuronsOf(testGateway({ vars, fetch: openai(usage(51)) }), body)).toBe(112);
	});

	it("are shown by explain", async () => {
		const gateway = testGateway({ vars, fetch: openai(usage(1)) });
		const response = await gateway.post("/explain/acme/long", { messages: message("Hi"), max_tokens: 1 });
		expect(await response.json()).toMatchObject({
			result: {
				price: { rows: expect.arrayContaining([expect.objectContaining({ above_input_tokens: 50 })]) },
			},
		});
	});
});
