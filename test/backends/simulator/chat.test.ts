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
	system,
	target,
	user,
	world,
} from "./fixture.ts";

const FALLBACK =
	"I am Ganglion's simulator standing in for @cf/meta/llama-3.3-70b-instruct-fp8-fast; no engine serves it.";

describe("recall", () => {
	it("answers from an earlier turn, in the second person", async () => {
		const turns = [user("My name is Alice."), assistant("Hi Alice!"), user("What is my name?")];
		expect(await contentOf(turns)).toBe("Your name is Alice.");
	});

	it("prefers what was said last", async () => {
		const turns = [
			user("My name is Alice."),
			assistant("Hi."),
			user("Actually, my name is Bob."),
			user("What's my name"),
		];
		expect(await contentOf(turns)).toBe("Your name is Bob.");
	});

	it("answers each of two questions", async () => {
		const turns = [
			user("My favourite colour is blue. I am 30 years old. I work as a nurse."),
			user("How old am I and what is my favorite color?"),
		];
		expect(await contentOf(turns)).toBe("You are 30 years old. Your favourite colour is blue.");
	});

	it.each([
		["I was born in 1990 in Rome.", "In which city was I born?", "You were born in 1990 in Rome."],
		["My car is red.", "What color is my car?", "Your car is red."],
		[
			"Refunds are possible within 30 days.",
			"How long do I have to get a refund?",
			"Refunds are possible within 30 days.",
		],
		["My name is Alice.", "Do you remember my name?", "Your name is Alice."],
		["The meeting is at 5pm on Tuesday.", "when is the meeting", "The meeting is at 5pm on Tuesday."],
	])("does not need the kind that is asked for in the answer: %s %s", async (told, asked, said) => {
		expect(await contentOf([user(told), assistant("I see."), user(asked)])).toBe(said);
	});

	it("knows the user from the model", async () => {
		expect(await contentOf([user("My name is Alice."), user("What is your name?")])).toBe(
			`${FALLBACK} You asked: What is your name?`,
		);
		expect(await contentOf([system("You are Max, a pirate."), user("Who are you?")])).toBe(
			"I am Max, a pirate.",
		);
	});

	it.each([
		["Tell me a secret number.", "What is the secret number?"],
		["Tell me a secret number", "what was the secret number you told me?"],
		["Please give me a random word.", "Which random word did you give me?"],
		["Think of a number between 1 and 10.", "What number did you think of?"],
		["Explain the theory of relativity", "Who made the theory of relativity?"],
		["I want you to pick a secret word.", "What is the secret word?"],
		["what is my favourite colour", "What is my favourite colour?"],
		["can you tell me the secret number", "What is the secret number?"],
	])("takes no request for a fact: %s %s", async (wanted, asked) => {
		expect(await contentOf([user(wanted), user(asked)])).toBe(`${FALLBACK} You asked: ${asked}`);
	});

	it.each([
		[
			"Tell me a secret number. My secret number is 42.",
			"What is my secret number?",
			"Your secret number is 42.",
		],
		["Remember that the secret number is 7.", "What is the secret number?", "The secret number is 7."],
		["Please note that my flight leaves at 9.", "When does my flight leave?", "Your flight leaves at 9."],
		[
			"When I was young I lived in Oslo.",
			"Where did I live when I was young?",
			"When you were young you lived in Oslo.",
		],
		["Name tags are in the red box.", "Where are the name tags?", "Name tags are in the red box."],
	])("still takes what is told for one: %s", async (told, asked, said) => {
		expect(await contentOf([user(told), assistant("I see."), user(asked)])).toBe(said);
	});

	it("still takes the steps of a manual for facts", async () => {
		const manual =
			"The editor has two buttons. Choose the blue button to save a file. The red one closes it.";
		expect(await contentOf([user(manual), user("How do I save a file?")])).toBe(
			"Choose the blue button to save a file.",
		);
	});

	it("does not quote itself, nor answer a statement with another", async () => {
		const first = await contentOf("Where is the Louvre?");
		expect(first).toBe(`${FALLBACK} You asked: Where is the Louvre?`);
		expect(
			await contentOf([user("Where is the Louvre?"), assistant(first), user("Where is the Louvre?")]),
		).toBe(first);
		expect(await contentOf([user("My dog is called Rex."), user("My cat is called Tom.")])).toBe(
			`${FALLBACK} You asked: My cat is called Tom.`,
		);
	});

	it.each([
		["我叫小明。", "我叫什么名字？", "你叫小明。"],
		["أنا اسمي أليس.", "ما هو اسمي؟", "أنا اسمي أليس."],
		["Me llamo Alicia.", "¿Cómo me llamo?", "Me llamo Alicia."],
		["Ich wohne in Berlin.", "Wo wohne ich?", "Ich wohne in Berlin."],
		["私の名前は太郎です。", "私の名前は何ですか？", "私の名前は太郎です。"],
	])("recalls in other languages: %s", async (told, asked, said) => {
		expect(await contentOf([user(told), assistant("OK"), user(asked)])).toBe(said);
	});
});

describe("retrieval-augmented prompts", () => {
	const passages = [
		"Ganglion was founded in 2024 in Lisbon.",
		"Its mascot is an octopus.",
		"The capital of Germany is Berlin, a city of 3.7 million.",
	];

	it("answers from passages in the system prompt", async () => {
		const prompt = system(
			`Answer from the context only.\n\nContext:\n${passages.map((text) => `- ${text}`).join("\n")}`,
		);
		expect(await contentOf([prompt, user("When was Ganglion founded?")])).toBe(passages[0]);
		expect(await contentOf([prompt, user("What is the capital of Germany?")])).toBe(passages[2]);
	});

	it("answers from passages around the question in one message", async () => {
		const before = `Use this context.\n\n[1] ${passages[0]}\n[2] ${passages[1]}\n\nQuestion: What is the mascot?\nAnswer:`;
		expect(await contentOf(before)).toBe(passages[1]);
		expect(
			await contentOf(`What is the mascot?\n\n<doc>${passages[0]}</doc>\n<doc>${passages[1]}</doc>`),
		).toBe(passages[1]);
	});

	it("joins a line that was wrapped", async () => {
		expect(
			await contentOf([system("Ganglion was founded\nin 2024."), user("When was Ganglion founded?")]),
		).toBe("Ganglion was founded\nin 2024.".replace("\n", " "));
	});

	it("says so where the passages do not answer", async () => {
		expect(await contentOf([system(passages.join(" ")), user("What is the capital of France?")])).toBe(
			`${FALLBACK} You asked: What is the capital of France?`,
		);
	});

	it("finds a needle in a megabyte", async () => {
		const hay = "The weather of the north is grey and the people walk along the shore. ".repeat(15_000);
		expect(
			await contentOf(`${hay}\nThe secret code is 7391.\n${hay.slice(0, 50_000)}\nWhat is the secret code?`),
		).toBe("The secret code is 7391.");
	});
});

describe("what it is told to say", () => {
	it.each([
		['Say "pong".', "pong"],
		["Say hello", "hello"],
		["Reply with exactly: OK", "OK"],
		["Respond with just the word yes.", "yes"],
		["Please repeat after me: the sky is blue", "the sky is blue"],
	])("%s", async (asked, said) => expect(await contentOf(asked)).toBe(said));

	it("takes other orders as questions", async () => {
		for (const asked of ["Write a poem about cats", "Answer the question", "hello"])
			expect(await contentOf(asked)).toBe(`${FALLBACK} You asked: ${asked}`);
	});

	it("sums up what it is given", async () => {
		const text =
			"The cat sat on the mat. Rain fell. The cat likes fish. Dogs bark. The cat and the fish are friends. Nobody came.";
		expect(await contentOf(`Summarize the following text: ${text}`)).toBe(
			"The cat sat on the mat. The cat likes fish. The cat and the fish are friends.",
		);
	});

	it("says that nothing was asked", async () => {
		expect(await contentOf([])).toBe(`${FALLBACK} You asked nothing.`);
		expect(await contentOf([user("")])).toBe(`${FALLBACK} You asked nothing.`);
	});
});

describe("the completion", () => {
	it("has OpenAI's shape and says what answered", async () => {
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

	it("is the same for the same input, whatever the sampling", async () => {
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

	it("gives n choices and counts all of them", async () => {
		const { choices, usage } = await chat("Say one two", { n: 3 });
		expect(choices.map(({ index, message }) => [index, message.content])).toEqual([
			[0, "one two"],
			[1, "one two"],
			[2, "one two"],
		]);
		expect(usage?.completion_tokens).toBe(6);
	});

	it("is sure of each token where log probabilities are asked for", async () => {
		const { choices } = await chat("Say a b", { logprobs: true, top_logprobs: 2 });
		const sure = (token: string) => ({ token, logprob: 0, bytes: [...new TextEncoder().encode(token)] });
		expect(choices[0]?.logprobs).toEqual({
			content: ["a", " b"].map((token) => ({ ...sure(token), top_logprobs: [sure(token)] })),
			refusal: null,
		});
	});

	it("answers a raw prompt, without the marks of its template", async () => {
		const prompt =
			"<|im_start|>system\nThe code word is banana.<|im_end|>\n<|im_start|>user\nWhat is the code word?<|im_end|>\n<|im_start|>assistant\n";
		expect(await contentOf([], { prompt })).toBe("The code word is banana.");
	});

	it("stops before it starts when the caller has left", async () => {
		const ask = simulator(target, world())["text-generation"];
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
			reasoning_content: "The user says what to reply, so I repeat it.",
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

	it("uses up a small max_tokens, as thinking models do", async () => {
		const { choices } = await chat("Say hello", { max_tokens: 3 }, thinker);
		expect(choices[0]).toMatchObject({ message: { content: "" }, finish_reason: "length" });
	});

	it("is left out when it is turned off, or the model cannot", async () => {
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

	it("are described by what can be read off them", async () => {
		expect(await contentOf(about(url))).toBe(
			`The image is 3 by 2 pixels (PNG; image/png, ${png.length} bytes). ${FALLBACK} You asked: What is this?`,
		);
	});

	it("may be several, unreadable, or elsewhere", async () => {
		const content = await contentOf(about(url, "data:image/png;base64,AAAA", "https://example.com/a.png"));
		expect(content).toContain("Image 2 has a size that I cannot read (image/png, 3 bytes).");
		expect(content).toContain("Image 3 is at an address, which I do not fetch.");
	});

	it("count by their size, as in the gateway's own count", async () => {
		const tokens = async (...urls: string[]) => (await chat(about(...urls))).usage?.prompt_tokens ?? 0;
		expect((await tokens(url, url)) - (await tokens())).toBe(146);
	});
});
