/** Anthropic's Messages through a gateway whose only engine is another Ganglion, called in the same dialect. */
import { describe, expect, it } from "vitest";
import { BASE, testGateway } from "./gateway.ts";
import { expectSameFrames, expectSameJson, first } from "./loop.ts";

const BY_MESSAGES = testGateway({
	vars: {
		// Without `/v1`, as Anthropic's SDKs have it.
		BACKENDS: { first: { kind: "anthropic", url: BASE } },
		ROUTES: { "*": [{ backend: "first" }] },
	},
	fetch: async (input, init) => first.app.fetch(new Request(input, init)),
});

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const KIMI = "@cf/moonshotai/kimi-k2.6";
/** A model whose native format is Anthropic's. */
const CLAUDE = "anthropic/claude-sonnet-4.5";
const MODELS = [LLAMA, KIMI, CLAUDE];

const ALICE = [
	{ role: "user", content: "My name is Alice." },
	{ role: "assistant", content: "Hello!" },
	{ role: "user", content: "Reply with exactly: Your name is Alice." },
];
const max_tokens = 2048;
const CALCULATOR = {
	name: "calculator",
	description: "Evaluate an arithmetic expression",
	input_schema: {
		type: "object",
		properties: { expression: { type: "string", description: "e.g. 1 + 1" } },
		required: ["expression"],
	},
};
const SCHEMA = {
	type: "object",
	properties: {
		name: { type: "string" },
		mood: { enum: ["happy", "sad"] },
		tags: { type: "array", items: { type: "string" } },
	},
	required: ["name", "mood", "tags"],
	additionalProperties: false,
};

const messagesBody = (body: object, model = LLAMA) => ({ model, max_tokens, messages: ALICE, ...body });
const expectSame = (body: object, model?: string) =>
	expectSameJson(BY_MESSAGES, "/v1/messages", messagesBody(body, model));
const expectSameStream = (body: object, model?: string) =>
	expectSameFrames(BY_MESSAGES, "/v1/messages", messagesBody({ ...body, stream: true }, model));

describe.each(MODELS)("the gateway in front of itself, as anthropic: %s", (model) => {
	it("returns the same answer", async () => {
		expect(await expectSame({ system: "Be kind." }, model)).toMatchObject({
			model,
			content: [{ type: "text", text: expect.stringContaining("Alice") }],
			stop_reason: "end_turn",
			usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
		});
		const frames = await expectSameStream({ system: "Be kind." }, model);
		expect(frames.at(-1)).toEqual({ type: "message_stop" });
		expect(frames.length).toBeGreaterThan(6);
	});

	it("stops at the same limit", async () => {
		expect(await expectSame({ max_tokens: 3 }, model)).toMatchObject({ stop_reason: "max_tokens" });
		await expectSameStream({ max_tokens: 3 }, model);
	});

	it("calls tools, and answers from their results", async () => {
		const messages = [{ role: "user", content: 'Use the calculator tool with {"expression":"17 * 23"}' }];
		for (const tool_choice of [undefined, { type: "any" }, { type: "tool", name: "calculator" }]) {
			const body = { messages, tools: [CALCULATOR], ...(tool_choice && { tool_choice }) };
			expect(await expectSame(body, model)).toMatchObject({
				content: [{ type: "tool_use", name: "calculator", input: { expression: "17 * 23" } }],
				stop_reason: "tool_use",
			});
			await expectSameStream(body, model);
		}
		const use = { type: "tool_use", id: "toolu_1", name: "calculator", input: { expression: "17 * 23" } };
		const result = { type: "tool_result", tool_use_id: "toolu_1", content: "391" };
		const turns = [...messages, { role: "assistant", content: [use] }, { role: "user", content: [result] }];
		const answer = await expectSame({ messages: turns, tools: [CALCULATOR] }, model);
		expect(JSON.stringify(answer)).toContain("391");
		await expectSameStream({ messages: turns, tools: [CALCULATOR] }, model);
	});

	it("returns output that matches a schema", async () => {
		const messages = [
			{ role: "user", content: 'Reply with exactly: {"name":"Alice","mood":"sad","tags":["x"]}' },
		];
		const body = { messages, output_config: { format: { type: "json_schema", schema: SCHEMA } } };
		// Models without a grammar answer with a forced tool call, whose arguments are placeholders.
		const response = await BY_MESSAGES.post("/v1/messages", messagesBody(body, model));
		const { content, stop_reason } = await response.json<{
			content: { text: string }[];
			stop_reason: string;
		}>();
		expect([content.length, stop_reason]).toEqual([1, "end_turn"]);
		expect(JSON.parse(content[0]?.text ?? "")).toEqual(
			model === CLAUDE
				? { name: "Alice", mood: "sad", tags: ["x"] }
				: { name: "simulated name", mood: "happy", tags: [] },
		);
		if (model !== CLAUDE) return;
		await expectSame(body, model);
		await expectSameStream(body, model);
	});
});

describe("the gateway in front of itself, as anthropic", () => {
	it.each([KIMI, CLAUDE])("returns the same thinking: %s", async (model) => {
		const body = { thinking: { type: "enabled", budget_tokens: 1024 } };
		const answer = await expectSame(body, model);
		if (model === KIMI) expect(answer).toMatchObject({ content: [{ type: "thinking" }, { type: "text" }] });
		await expectSameStream(body, model);
	});

	it("returns the same chat answer in OpenAI's dialect", async () => {
		const path = "/v1/chat/completions";
		// Only Anthropic's format has cache writes in its usage. It contains thoughts (Kimi's) only if requested.
		const reviver = (key: string, value: unknown) => (key === "prompt_tokens_details" ? undefined : value);
		for (const model of [LLAMA, CLAUDE]) {
			const answer = await expectSameJson(BY_MESSAGES, path, { model, messages: ALICE, max_tokens }, reviver);
			expect(JSON.stringify(answer)).toContain("Alice");
		}
	});

	it("returns the same validation error", async () => {
		for (const body of [messagesBody({ messages: [] }), messagesBody({ tools: [{ name: "bash" }] })]) {
			const answers = await Promise.all([first, BY_MESSAGES].map(({ post }) => post("/v1/messages", body)));
			expect(answers.map(({ status }) => status)).toEqual([400, 400]);
			const [a, b] = await Promise.all(
				answers.map(async (answer) => ({ ...(await answer.json<object>()), request_id: "" })),
			);
			expect(b).toEqual(a);
		}
	});
});
