/** Anthropic's Messages through a gateway whose only engine is another of our own, asked in the same dialect. */
import { describe, expect, it } from "vitest";
import { BASE, testGateway } from "./gateway.ts";
import { first, sameFrames, sameJson } from "./loop.ts";

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
/** Asked and answered in Anthropic's own form. */
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

const asked = (body: object, model = LLAMA) => ({ model, max_tokens, messages: ALICE, ...body });
const same = (body: object, model?: string) => sameJson(BY_MESSAGES, "/v1/messages", asked(body, model));
const sameStream = (body: object, model?: string) =>
	sameFrames(BY_MESSAGES, "/v1/messages", asked({ ...body, stream: true }, model));

describe.each(MODELS)("the gateway in front of itself, as anthropic: %s", (model) => {
	it("says the same", async () => {
		expect(await same({ system: "Be kind." }, model)).toMatchObject({
			model,
			content: [{ type: "text", text: expect.stringContaining("Alice") }],
			stop_reason: "end_turn",
			usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
		});
		const frames = await sameStream({ system: "Be kind." }, model);
		expect(frames.at(-1)).toEqual({ type: "message_stop" });
		expect(frames.length).toBeGreaterThan(6);
	});

	it("stops where it must", async () => {
		expect(await same({ max_tokens: 3 }, model)).toMatchObject({ stop_reason: "max_tokens" });
		await sameStream({ max_tokens: 3 }, model);
	});

	it("calls tools, and answers from what they gave", async () => {
		const messages = [{ role: "user", content: 'Use the calculator tool with {"expression":"17 * 23"}' }];
		for (const tool_choice of [undefined, { type: "any" }, { type: "tool", name: "calculator" }]) {
			const body = { messages, tools: [CALCULATOR], ...(tool_choice && { tool_choice }) };
			expect(await same(body, model)).toMatchObject({
				content: [{ type: "tool_use", name: "calculator", input: { expression: "17 * 23" } }],
				stop_reason: "tool_use",
			});
			await sameStream(body, model);
		}
		const use = { type: "tool_use", id: "toolu_1", name: "calculator", input: { expression: "17 * 23" } };
		const result = { type: "tool_result", tool_use_id: "toolu_1", content: "391" };
		const turns = [...messages, { role: "assistant", content: [use] }, { role: "user", content: [result] }];
		const answer = await same({ messages: turns, tools: [CALCULATOR] }, model);
		expect(JSON.stringify(answer)).toContain("391");
		await sameStream({ messages: turns, tools: [CALCULATOR] }, model);
	});

	it("keeps to a schema", async () => {
		const messages = [
			{ role: "user", content: 'Reply with exactly: {"name":"Alice","mood":"sad","tags":["x"]}' },
		];
		const body = { messages, output_config: { format: { type: "json_schema", schema: SCHEMA } } };
		// Models without a grammar there answer by a forced call, whose arguments are placeholders.
		const whole = await BY_MESSAGES.post("/v1/messages", asked(body, model));
		const { content, stop_reason } = await whole.json<{ content: { text: string }[]; stop_reason: string }>();
		expect([content.length, stop_reason]).toEqual([1, "end_turn"]);
		expect(JSON.parse(content[0]?.text ?? "")).toEqual(
			model === CLAUDE
				? { name: "Alice", mood: "sad", tags: ["x"] }
				: { name: "simulated name", mood: "happy", tags: [] },
		);
		if (model !== CLAUDE) return;
		await same(body, model);
		await sameStream(body, model);
	});
});

describe("the gateway in front of itself, as anthropic", () => {
	it.each([KIMI, CLAUDE])("thinks alike where it is asked to: %s", async (model) => {
		const body = { thinking: { type: "enabled", budget_tokens: 1024 } };
		const answer = await same(body, model);
		if (model === KIMI) expect(answer).toMatchObject({ content: [{ type: "thinking" }, { type: "text" }] });
		await sameStream(body, model);
	});

	it("chats alike in OpenAI's dialect", async () => {
		const path = "/v1/chat/completions";
		// Anthropic counts what its cache takes; nobody else has a word for it. Thoughts (Kimi's) it shows to who asks.
		const but = (key: string, value: unknown) => (key === "prompt_tokens_details" ? undefined : value);
		for (const model of [LLAMA, CLAUDE]) {
			const answer = await sameJson(BY_MESSAGES, path, { model, messages: ALICE, max_tokens }, but);
			expect(JSON.stringify(answer)).toContain("Alice");
		}
	});

	it("says the same of what is wrong", async () => {
		for (const body of [
			asked({ messages: [] }),
			asked({ tools: [{ type: "bash_20250124", name: "bash" }] }),
		]) {
			const answers = await Promise.all([first, BY_MESSAGES].map(({ post }) => post("/v1/messages", body)));
			const [a, b] = await Promise.all(
				answers.map(async (answer) => ({ ...(await answer.json<object>()), request_id: "" })),
			);
			expect(b).toEqual(a);
		}
	});
});
