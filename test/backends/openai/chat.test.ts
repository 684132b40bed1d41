import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ChatInput } from "../../../src/tasks/text-generation/types.ts";
import chatJson from "../../fixtures/openai/llama-cpp/chat.json?raw";
import chatSse from "../../fixtures/openai/llama-cpp/chat.sse?raw";
import logprobsJson from "../../fixtures/openai/llama-cpp/chat-logprobs.json?raw";
import twoChoicesJson from "../../fixtures/openai/llama-cpp/chat-two-choices.json?raw";
import twoChoicesSse from "../../fixtures/openai/llama-cpp/chat-two-choices.sse?raw";
import ollamaJson from "../../fixtures/openai/ollama/chat.json?raw";
import vllmToolsJson from "../../fixtures/openai/vllm/tools.json?raw";
import { eventsOf, outputOf } from "../ask.ts";
import { drain, eventStream, failureOf, json, neverAnswers, tap } from "../upstream.ts";
import { ask, OPENAI, says } from "./ask.ts";

const HI: ChatInput = { messages: [{ role: "user", content: "hi" }], stream: false };

const EVERYTHING: ChatInput = {
	messages: [
		{ role: "developer", content: "Be short." },
		{ role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }] },
		{
			role: "assistant",
			content: null,
			reasoning_content: "A picture.",
			tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: "{}" } }],
		},
		{ role: "tool", content: "a cat", tool_call_id: "c1" },
	],
	stream: true,
	max_tokens: 9,
	temperature: 0.5,
	top_p: 0.9,
	top_k: 40,
	seed: 3,
	repetition_penalty: 1.1,
	frequency_penalty: 0.1,
	presence_penalty: 0.2,
	stop: ["\n"],
	n: 2,
	logprobs: true,
	top_logprobs: 4,
	logit_bias: { "50256": -100 },
	tools: [{ type: "function", function: { name: "look", parameters: { type: "object" } } }],
	tool_choice: { type: "function", function: { name: "look" } },
	parallel_tool_calls: false,
	response_format: {
		type: "json_schema",
		json_schema: { name: "s", schema: { type: "object" }, strict: true },
	},
	reasoning_effort: "low",
	chat_template_kwargs: { clear_thinking: true },
	user: "u1",
	passthrough: {
		metadata: { a: "b" },
		model: "another",
		max_tokens: 1_000_000,
		stream_options: null,
		tools: [],
	},
};

async function bodyOf(
	input: ChatInput,
	options: Parameters<typeof ask>[3] = {},
): Promise<Record<string, unknown>> {
	const asking = ask("text-generation", input, () => says("hello"), options);
	await asking.answer;
	expect(asking.call.requests).toHaveLength(1);
	expect(asking.call.requests[0]?.url).toMatch(/\/v1\/chat\/completions$/);
	return asking.call.requests[0]?.json ?? {};
}

describe("a chat request", () => {
	it("has only messages if nothing else is set", async () => {
		expect(await bodyOf(HI)).toEqual({
			model: "engine-model",
			messages: [{ role: "user", content: "hi" }],
			stream: false,
		});
	});

	it("accepts a complete reply, or events if they are requested", async () => {
		const acceptOf = async (stream: boolean) => {
			const asking = ask("text-generation", { ...HI, stream }, () => says("hello"));
			await asking.answer;
			return asking.call.requests[0]?.headers.get("accept");
		};
		expect(await acceptOf(false)).toBe("application/json");
		expect(await acceptOf(true)).toBe("text/event-stream, application/json");
	});

	it("has all fields under the engines' names", async () => {
		expect(await bodyOf(EVERYTHING)).toEqual({
			model: "engine-model",
			messages: [
				{ role: "system", content: "Be short." },
				{ role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }] },
				{
					role: "assistant",
					content: null,
					reasoning_content: "A picture.",
					reasoning: "A picture.",
					tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: "{}" } }],
				},
				{ role: "tool", content: "a cat", tool_call_id: "c1" },
			],
			stream: true,
			stream_options: { include_usage: true },
			max_tokens: 9,
			temperature: 0.5,
			top_p: 0.9,
			top_k: 40,
			seed: 3,
			repetition_penalty: 1.1,
			repeat_penalty: 1.1,
			frequency_penalty: 0.1,
			presence_penalty: 0.2,
			stop: ["\n"],
			n: 2,
			logprobs: true,
			top_logprobs: 4,
			logit_bias: { "50256": -100 },
			tools: [{ type: "function", function: { name: "look", parameters: { type: "object" } } }],
			tool_choice: { type: "function", function: { name: "look" } },
			parallel_tool_calls: false,
			response_format: EVERYTHING.response_format,
			reasoning_effort: "low",
			chat_template_kwargs: { clear_thinking: true },
			user: "u1",
			metadata: { a: "b" },
		});
	});

	it.each([
		"https://api.openai.com/v1",
		"https://eu.api.openai.com/v1",
		"https://x.openai.azure.com/openai/v1",
	])("omits fields that OpenAI refuses at %s", async (url) => {
		const body = await bodyOf(EVERYTHING, { target: { url } });
		expect(Object.keys(body).sort()).toEqual(
			[
				...["frequency_penalty", "logit_bias", "logprobs", "max_completion_tokens", "messages", "metadata"],
				...["model", "n", "parallel_tool_calls", "presence_penalty", "reasoning_effort", "response_format"],
				...[
					"seed",
					"stop",
					"stream",
					"stream_options",
					"temperature",
					"tool_choice",
					"tools",
					"top_logprobs",
				],
				...["top_p", "user"],
			].sort(),
		);
		expect(body.max_completion_tokens).toBe(9);
		expect(body.messages).toMatchObject([{ role: "developer" }, {}, {}, {}]);
		expect(JSON.stringify(body.messages)).not.toContain("reasoning");
	});

	it("treats a host with a similar name as an engine", async () => {
		const body = await bodyOf(
			{ ...HI, top_k: 1 },
			{ target: { url: "https://api.openai.com.example.org/v1" } },
		);
		expect(body.top_k).toBe(1);
	});

	it("disables reasoning in the template unless the caller sets it", async () => {
		expect(await bodyOf({ ...HI, reasoning_effort: null })).toMatchObject({
			chat_template_kwargs: { enable_thinking: false },
		});
		const kwargs = { enable_thinking: true, more: 1 };
		expect(await bodyOf({ ...HI, reasoning_effort: null, chat_template_kwargs: kwargs })).toMatchObject({
			chat_template_kwargs: kwargs,
		});
		expect(Object.keys(await bodyOf({ ...HI, reasoning_effort: null }, OPENAI))).not.toContain(
			"reasoning_effort",
		);
	});

	it("sends only allowed tools to engines, and allowed_tools to OpenAI", async () => {
		const tool = (name: string) => ({ type: "function" as const, function: { name } });
		const tool_choice: ChatInput["tool_choice"] = {
			type: "allowed_tools",
			allowed_tools: { mode: "required", tools: [tool("b"), "junk"] },
		};
		const input: ChatInput = { ...HI, tools: [tool("a"), tool("b")], tool_choice };
		expect(await bodyOf(input)).toMatchObject({ tools: [tool("b")], tool_choice: "required" });
		expect(await bodyOf(input, OPENAI)).toMatchObject({ tools: [tool("a"), tool("b")], tool_choice });
	});
});

describe("an adapter", () => {
	const input: ChatInput = { ...HI, lora: "my-adapter" };

	const model = { capabilities: ["lora" as const] };

	it.each([[["other", "my-adapter"]], [["my-*"]]])(
		"is a model of its own name, where it is one of %j",
		async (loras) => {
			expect(await bodyOf(input, { model, target: { loras } })).toMatchObject({ model: "my-adapter" });
		},
	);

	it.each([[undefined], [["my-adapter-2", "my"]], [["y-*", "my-adapter-*"]]])(
		"is no model that the upstream has besides: %j",
		async (loras) => {
			const asking = ask("text-generation", { ...HI, lora: "my-adapter" }, () => says("hello"), {
				model,
				target: loras ? { loras } : {},
			});
			expect(await failureOf(asking.answer)).toMatchObject({
				key: "loraUnsupported",
				description:
					"The model @cf/lab/model has no such LoRA here: it is no fine-tune of the account, and not in loras of the route",
			});
			expect(asking.call.requests).toHaveLength(0);
		},
	);

	it.each([
		["a model that takes none", { target: { loras: ["my-adapter"] } }],
		["OpenAI", { ...OPENAI, model: { capabilities: ["lora" as const] } }],
	])("cannot name another model at %s", async (_, options) => {
		const asking = ask("text-generation", input, () => says("hello"), options);
		expect(await failureOf(asking.answer)).toMatchObject({
			key: "loraUnsupported",
			description: "The model @cf/lab/model does not support LoRa inference",
		});
		expect(asking.call.requests).toHaveLength(0);
	});
});

describe("a reply", () => {
	const output = (text: string, input = HI) => outputOf(ask("text-generation", input, () => json(text)));

	it.each([
		["llama.cpp", chatJson],
		["llama.cpp, with log probabilities", logprobsJson],
		["Ollama", ollamaJson.replace("chat.completion.chunk", "chat.completion")],
		["vLLM, with tools and thinking", vllmToolsJson],
	])("keeps the fields of %s", async (_, text) => {
		expect(await output(text)).toEqual(JSON.parse(text));
	});

	it.each([{ message: { content: "a" } }, { message: { content: "a" }, finish_reason: "" }])(
		"%j is given what every reply has",
		async (choice) => {
			const usage = { prompt_tokens: 3, completion_tokens: 4 };
			expect(await output(JSON.stringify({ choices: [choice], usage }))).toEqual({
				id: "chatcmpl-uuid-1",
				object: "chat.completion",
				created: expect.any(Number),
				model: "engine-model",
				choices: [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }],
				usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
			});
		},
	);

	it("numbers choices, and has the current time", async () => {
		vi.useFakeTimers({ now: 4_000_000_000_999, toFake: ["Date"] });
		onTestFinished(() => void vi.useRealTimers());
		const nothing = { id: null, created: null, model: null, usage: null };
		const choices = [
			{ index: null, message: { content: "a", tool_calls: null }, finish_reason: null },
			{ message: { content: "b" } },
		];
		expect(await output(JSON.stringify({ ...nothing, choices }), { ...HI, n: 2 })).toEqual({
			id: "chatcmpl-uuid-1",
			object: "chat.completion",
			created: 4_000_000_000,
			model: "engine-model",
			choices: [
				{ index: 0, message: { role: "assistant", content: "a", tool_calls: null }, finish_reason: "stop" },
				{ index: 1, message: { role: "assistant", content: "b" }, finish_reason: "stop" },
			],
		});
	});

	it("has the model that the engine names", async () => {
		const reply = { model: "engine-model-2026", choices: [{ message: { content: "a" } }] };
		expect((await output(JSON.stringify(reply))).model).toBe("engine-model-2026");
	});

	it("has no usage if the engine sends none", async () => {
		for (const usage of [undefined, null, {}])
			expect((await output(JSON.stringify({ choices: [{ message: { content: "a" } }], usage }))).usage).toBe(
				undefined,
			);
	});

	it("counts thoughts of Gemini that are only in the total", async () => {
		// A published answer, https://github.com/mozilla-ai/any-llm/issues/1290, in the fields of Google's chat completions.
		const usage = { prompt_tokens: 20, completion_tokens: 198, total_tokens: 623 };
		const usageOf = async (model: string) =>
			(await outputOf(ask("text-generation", HI, () => says("36", { model, usage })))).usage;
		expect(await usageOf("gemini-2.5-flash")).toEqual({ ...usage, completion_tokens: 603 });
		expect(await usageOf("google/gemini-2.5-flash")).toEqual({ ...usage, completion_tokens: 603 });
		expect(await usageOf("my-gemini")).toEqual(usage);
	});

	it("keeps tool calls that are null", async () => {
		const message = { content: "hi", tool_calls: null };
		const asking = ask("text-generation", HI, () => json({ choices: [{ message }] }));
		expect((await outputOf(asking)).choices[0]?.message).toStrictEqual({
			role: "assistant",
			content: "hi",
			tool_calls: null,
		});
	});

	it("has tool arguments as JSON text", async () => {
		const calls = [{ function: { name: "a", arguments: { x: 1 } } }, { id: "2", function: { name: "b" } }];
		const { choices } = await output(JSON.stringify({ choices: [{ message: { tool_calls: calls } }] }));
		expect(choices[0]?.message.tool_calls).toEqual([
			{
				id: expect.stringMatching(/^call_uuid-\d$/),
				type: "function",
				function: { name: "a", arguments: '{"x":1}' },
			},
			{ id: "2", type: "function", function: { name: "b", arguments: "{}" } },
		]);
	});

	it.each(['{"choices":[]}', "{}", "[]"])("rejects a malformed reply: %s", async (text) => {
		expect(await failureOf(output(text))).toMatchObject({ key: "executionFailed" });
	});
});

describe("a stream", () => {
	const input: ChatInput = { ...HI, stream: true };

	it("forwards the engine's bytes", async () => {
		const events = await eventsOf(ask("text-generation", input, () => eventStream(chatSse)));
		expect(await drain(events)).toEqual({ text: chatSse });
	});

	it("is interrupted if its one choice does not finish", async () => {
		const unfinished = 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n';
		const { error } = await drain(
			await eventsOf(ask("text-generation", { ...HI, stream: true }, () => eventStream(unfinished))),
		);
		expect(error).toMatchObject({ description: "The backend 'lab' was cut off mid-answer" });
	});

	it("waits for all requested choices", async () => {
		const finish = 'data: {"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\n';
		const { error } = await drain(
			await eventsOf(ask("text-generation", { ...input, n: 2 }, () => eventStream(finish))),
		);
		expect(error).toMatchObject({ key: "executionFailed" });
	});

	it("returns a complete reply as a value", async () => {
		expect(await outputOf(ask("text-generation", input, () => json(chatJson)))).toEqual(JSON.parse(chatJson));
	});

	it("rejects with the engine's error before the first event", async () => {
		const { answer } = ask("text-generation", input, () => json({ error: { message: "no" } }, 400));
		expect(await failureOf(answer)).toMatchObject({ key: "engineRefused", description: "no" });
	});

	it("aborts the fetch when cancelled, and when the caller disconnects early", async () => {
		const upstream = tap();
		upstream.push('data: {"choices":[]}\n\n');
		const asking = ask("text-generation", input, () => eventStream(upstream.body));
		await (await eventsOf(asking)).cancel();
		expect(asking.call.requests[0]?.signal.aborted).toBe(true);

		const left = ask("text-generation", input, neverAnswers);
		const failure = failureOf(left.answer);
		left.call.disconnect();
		expect(await failure).toMatchObject({ key: "aborted" });
		expect(left.call.requests[0]?.signal.aborted).toBe(true);
	});
});

describe("several choices of llama.cpp, which counts one", () => {
	const two = { ...HI, n: 2, max_tokens: 8 };

	it("are all counted in a complete reply", async () => {
		const { choices, usage } = await outputOf(ask("text-generation", two, () => json(twoChoicesJson)));
		expect(choices).toHaveLength(2);
		expect(usage).toMatchObject({ prompt_tokens: 43, completion_tokens: 16, total_tokens: 59 });
	});

	it("are counted by log probabilities, or estimated from the first", async () => {
		const said = (content: string, more: object = {}) => ({
			message: { role: "assistant", content },
			finish_reason: "stop",
			...more,
		});
		const counted = async (other: object, input: object = {}, text = "one two three four") => {
			const reply = {
				...JSON.parse(twoChoicesJson),
				choices: [said(text), other],
				usage: { prompt_tokens: 43, completion_tokens: 8, total_tokens: 51 },
			};
			return (await outputOf(ask("text-generation", { ...HI, n: 2, ...input }, () => json(reply)))).usage
				?.completion_tokens;
		};
		expect(await counted(said("one two", { logprobs: { content: [{}, {}, {}] } }))).toBe(8 + 3);
		expect(await counted(said("one two"))).toBe(8 + 4);
		expect(await counted(said("one two"), {}, "")).toBe(8 + 16);
		// The bound is the count of a choice that reached it only.
		expect(await counted(said("one two"), { max_tokens: 8 })).toBe(8 + 4);
		expect(await counted(said("one two", { finish_reason: "length" }))).toBe(8 + 4);
		expect(await counted(said("one two", { finish_reason: "length" }), { max_tokens: 6 })).toBe(8 + 6);
	});

	it("are summed in a stream", async () => {
		const asking = ask("text-generation", { ...two, stream: true }, () => eventStream(twoChoicesSse));
		const { text } = await drain(await eventsOf(asking));
		const usages = text
			.split("\n\n")
			.filter((event) => event.includes('"usage"'))
			.map((event) => JSON.parse(event.slice("data: ".length)).usage.completion_tokens);
		expect(usages).toEqual([3, 6]);
	});

	it("keep the engine's counts if it counts all", async () => {
		const reply = () => says("a", { usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } });
		const { usage } = await outputOf(ask("text-generation", two, reply));
		expect(usage?.completion_tokens).toBe(3);
	});
});

/** Chunks of Google's own endpoint: https://discuss.ai.google.dev/t/127400 */
const thinkingSse = (model: string): string =>
	[
		[
			{ content: "1", role: "assistant" },
			{ completion_tokens: 1, prompt_tokens: 9, total_tokens: 103 },
		],
		[{ content: ", " }, { completion_tokens: 3, prompt_tokens: 9, total_tokens: 105 }, "length"],
	]
		.map(([delta, usage, finish_reason]) =>
			JSON.stringify({
				...{
					choices: [{ delta, index: 0, finish_reason }],
					created: 1772149571,
					id: "Q9ugadePBtbAqtsPx5e1iAE",
				},
				...{ model, object: "chat.completion.chunk", usage },
			}),
		)
		.map((data) => `data: ${data}\n\n`)
		.concat("data: [DONE]\n\n")
		.join("");

it.each([
	["gemini-3-flash-preview", [94, 96]],
	["an-engine", [1, 3]],
])("the usage of a stream of %s counts %s tokens of output", async (model, expected) => {
	const asking = ask("text-generation", { ...HI, stream: true }, () => eventStream(thinkingSse(model)));
	const answer = await asking.answer;
	if (answer.kind !== "stream") throw new Error("a value");
	const { text } = await drain(answer.events);
	const usages = text.match(/"completion_tokens":\d+/g);
	expect(usages).toEqual(expected.map((count) => `"completion_tokens":${count}`));
	expect(answer.progress.usage?.completion_tokens).toBe(expected[1]);
});

describe("sampling fields of self-hosted engines", () => {
	const sampling = {
		min_p: 0.1,
		mirostat: 2,
		mirostat_tau: 5,
		mirostat_eta: 0.1,
		grammar: "root ::= [a-z]+",
	};

	it("are sent to engines only", async () => {
		const input = { ...HI, passthrough: { ...sampling, store: false } };
		expect(await bodyOf(input)).toMatchObject(sampling);
		const hosted = [OPENAI, { target: { url: "https://api.groq.com/openai/v1" } }];
		for (const target of hosted)
			expect(Object.keys(await bodyOf(input, target))).not.toEqual(
				expect.arrayContaining([expect.stringMatching(/^(min_p|mirostat|grammar)/)]),
			);
	});
});

describe("system messages in the middle", () => {
	const messages: ChatInput["messages"] = [
		{ role: "user", content: "u" },
		{ role: "system", content: "s" },
	];
	const sent = async (options: Parameters<typeof ask>[3] = {}) =>
		((await bodyOf({ ...HI, messages }, options)).messages as { role: string }[]).map(({ role }) => role);

	it("are folded for self-hosted engines, unless configured otherwise", async () => {
		expect(await sent()).toEqual(["user"]);
		expect(await sent({ target: { systemMessages: "anywhere" } })).toEqual(["user", "system"]);
	});

	it("are kept for hosted services, unless configured otherwise", async () => {
		expect(await sent(OPENAI)).toEqual(["user", "system"]);
		expect(await sent({ target: { ...OPENAI.target, systemMessages: "first" } })).toEqual(["user"]);
	});
});
