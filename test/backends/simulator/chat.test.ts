import { encode } from "fast-png";
import { describe, expect, it } from "vitest";
import { simulator } from "../../../src/backends/simulator/index.ts";
import {
	assistant,
	chat,
	contentOf,
	context,
	inputOf,
	messageOf,
	NOW,
	services,
	system,
	target,
	user,
} from "./fixture.ts";

const NOTICE = "Simulated reply from Ganglion for @cf/meta/llama-3.3-70b-instruct-fp8-fast: no model ran.";

describe("a reply", () => {
	it("says that it is simulated, names the model, and quotes the user", async () => {
		expect(await contentOf("Where is\n the Louvre?")).toBe(`${NOTICE} You wrote: "Where is the Louvre?".`);
	});

	it.each([
		"Classify the sentiment of: I love it",
		"Translate to French: good morning",
		"Is Paris in France? Answer yes or no.",
		"Write a title for this conversation",
		"Summarize the text",
	])("never looks like an answer: %s", async (text) => {
		expect(await contentOf(text)).toBe(`${NOTICE} You wrote: "${text}".`);
	});

	it("quotes neither system prompts nor earlier turns", async () => {
		const turns = [
			system("You are Max, a pirate. The code word is banana."),
			user("My name is Alice."),
			assistant("Hi."),
			user("What is the code word?"),
		];
		expect(await contentOf(turns)).toBe(`${NOTICE} You wrote: "What is the code word?".`);
		expect(await contentOf(turns.slice(0, 1))).toBe(`${NOTICE} The last message has no text.`);
	});

	it("does not read documents in the prompt", async () => {
		const text = "<doc><price>9 euros</price></doc>\n- a bullet\n| a | table |\nWhat is the price?";
		expect(await contentOf(text)).toBe(`${NOTICE} You wrote: "${text.replaceAll("\n", " ")}".`);
	});

	it("leaves out what a coding agent adds to the user's text", async () => {
		const reminder = "<system-reminder>\nUse CronCreate.\n</system-reminder>";
		expect(await contentOf(`${reminder}\nhello`)).toBe(`${NOTICE} You wrote: "hello".`);
		expect(await contentOf([user("hello"), assistant("Hi."), user(reminder)])).toBe(
			`${NOTICE} You wrote: "hello".`,
		);
		expect(await contentOf("hello <system-reminder>never closed")).toBe(`${NOTICE} You wrote: "hello".`);
	});

	it("quotes the beginning and the end of a long text", async () => {
		const content = await contentOf(`first ${"lorem ipsum ".repeat(50_000)}`);
		expect(content).toMatch(/You wrote: "first lorem ipsum .* … .*lorem ipsum"\.$/);
		expect(content.length).toBeLessThan(NOTICE.length + 350);
	});

	it("answers a raw prompt without template markers", async () => {
		const prompt =
			"<|im_start|>system\nThe code word is banana.<|im_end|>\n<|im_start|>user\nWhat is the code word?<|im_end|>\n<|im_start|>assistant\n";
		expect(await contentOf([], { prompt })).toBe(`${NOTICE} You wrote: "What is the code word?".`);
	});

	it("answers an empty prompt", async () => {
		expect(await contentOf([])).toBe(`${NOTICE} The last message has no text.`);
		expect(await contentOf([user("")])).toBe(`${NOTICE} The last message has no text.`);
	});
});

describe("literal answers", () => {
	it.each([
		['Say "pong".', "pong"],
		["Say hello", "hello"],
		["Reply with exactly: OK", "OK"],
		["reply exactly: I don't know", "I don't know"],
		["Answer only with PONG", "PONG"],
		["Respond with just the word yes", "yes"],
		["Please repeat after me: the sky is blue", "the sky is blue"],
		["Output only the following: a\nb", "a\nb"],
		["A long text.\nReply with exactly: Your name is Alice.", "Your name is Alice."],
	])("are the reply to %j", async (text, words) => expect(await contentOf(text)).toBe(words));

	it.each([
		"Write a poem about cats",
		"Answer the question",
		"Answer only with yes or no",
		"Say, what is this?",
		"If you do not know, reply exactly: I don't know",
		"hello",
	])("are not asked for by %j", async (text) => {
		expect(await contentOf(text)).toBe(`${NOTICE} You wrote: "${text}".`);
	});
});

describe("the completion", () => {
	it("has OpenAI's format and names the simulator", async () => {
		expect(await chat("Say hello")).toEqual({
			id: "chatcmpl-00000000000040008000000000000001",
			object: "chat.completion",
			created: NOW / 1000,
			model: target.model,
			system_fingerprint: "ganglion-simulator",
			choices: [
				{
					index: 0,
					message: { role: "assistant", content: "hello", refusal: null },
					logprobs: null,
					finish_reason: "stop",
				},
			],
			usage: {
				prompt_tokens: 9,
				completion_tokens: 1,
				total_tokens: 10,
				prompt_tokens_details: { cached_tokens: 0 },
			},
		});
	});

	it("is deterministic for any sampling", async () => {
		const turns = [user("I live in Oslo."), user("Where do I live?")];
		expect(await chat(turns, { temperature: 2, seed: 1 })).toEqual(
			await chat(turns, { temperature: 0, seed: 2 }),
		);
	});

	it("cuts at max_tokens", async () => {
		const { choices, usage } = await chat("Say one two three four", { max_tokens: 2 });
		expect(choices[0]).toMatchObject({ message: { content: "one two" }, finish_reason: "length" });
		expect(usage?.completion_tokens).toBe(2);
		const whole = await chat("Say one two three four", { max_tokens: 4 });
		expect(whole.choices[0]).toMatchObject({
			message: { content: "one two three four" },
			finish_reason: "stop",
		});
	});

	it("cuts before the first stop sequence", async () => {
		const { choices } = await chat("Say one two three four", { stop: ["four", " two"] });
		expect(choices[0]).toMatchObject({ message: { content: "one" }, finish_reason: "stop" });
	});

	it("has n choices and counts all", async () => {
		const { choices, usage } = await chat("Say one two", { n: 3 });
		expect(choices.map(({ index, message }) => [index, message.content])).toEqual([
			[0, "one two"],
			[1, "one two"],
			[2, "one two"],
		]);
		expect(usage?.completion_tokens).toBe(6);
	});

	it("has log probabilities of 0", async () => {
		const { choices } = await chat("Say a b", { logprobs: true, top_logprobs: 2 });
		const sure = (token: string) => ({ token, logprob: 0, bytes: [...new TextEncoder().encode(token)] });
		expect(choices[0]?.logprobs).toEqual({
			content: ["a", " b"].map((token) => ({ ...sure(token), top_logprobs: [sure(token)] })),
			refusal: null,
		});
	});

	it("makes no answer after a disconnect", async () => {
		const ask = simulator(target, services())["text-generation"];
		await expect(ask?.(inputOf("hello"), context({}, AbortSignal.abort()))).rejects.toMatchObject({
			key: "aborted",
		});
	});
});

describe("reasoning", () => {
	const thinker = { capabilities: ["reasoning" as const] };

	it("comes before the content and is counted", async () => {
		const { choices, usage } = await chat("Say hello", { reasoning_effort: "low" }, thinker);
		expect(choices[0]?.message).toEqual({
			role: "assistant",
			content: "hello",
			refusal: null,
			reasoning_content: "This is simulated reasoning: no model ran.",
		});
		const thought = usage?.completion_tokens_details?.reasoning_tokens ?? 0;
		expect(thought).toBeGreaterThan(5);
		expect(usage?.completion_tokens).toBe(thought + 1);
	});

	it("grows with the effort", async () => {
		const length = async (effort: "low" | "medium" | "high") =>
			(await messageOf("hello", { reasoning_effort: effort }, thinker)).reasoning_content?.length ?? 0;
		expect(await length("low")).toBeLessThan(await length("medium"));
		expect(await length("medium")).toBeLessThan(await length("high"));
	});

	it("uses up a small max_tokens", async () => {
		const { choices } = await chat("Say hello", { max_tokens: 3 }, thinker);
		expect(choices[0]).toMatchObject({ message: { content: "" }, finish_reason: "length" });
	});

	it("is absent if disabled or unsupported", async () => {
		const off = [
			await messageOf("hello", { reasoning_effort: null }, thinker),
			await messageOf("hello", { chat_template_kwargs: { enable_thinking: false } }, thinker),
			await messageOf("hello", { reasoning_effort: "high" }),
			await messageOf(
				"hello",
				{},
				{ ...thinker, reasoningEffort: { mandatory: false, default_enabled: false } },
			),
		];
		for (const message of off) expect(message).not.toHaveProperty("reasoning_content");
	});
});

describe("images", () => {
	const png = encode({ width: 3, height: 2, data: new Uint8Array(18), channels: 3 });
	const url = `data:image/png;base64,${btoa(String.fromCharCode(...png))}`;
	const about = (...urls: string[]) => [
		{
			role: "user" as const,
			content: [
				{ type: "text" as const, text: "What is this?" },
				...urls.map((one) => ({ type: "image_url" as const, image_url: { url: one } })),
			],
		},
	];

	it("are counted without decoding", async () => {
		expect(await contentOf(about(url))).toBe(
			`${NOTICE} You wrote: "What is this?". It has 1 attachment, not read.`,
		);
		expect(await contentOf(about(url, "https://example.com/a.png"))).toContain("2 attachments, not read.");
	});

	it("count by size", async () => {
		const tokens = async (...urls: string[]) => (await chat(about(...urls))).usage?.prompt_tokens ?? 0;
		expect((await tokens(url, url)) - (await tokens())).toBe(146);
	});
});
