/**
 * The `openai` backend against a real engine, where one is given: LLAMA_SERVER_URL and, for embeddings,
 * LLAMA_EMBEDDINGS_URL. Any model does whose vocabulary can write JSON; answers are judged by their shape.
 *
 *     llama-server -m MODEL.gguf --jinja --context-shift --port 18080
 *     llama-server -m MODEL.gguf --embeddings --pooling mean --port 18081
 *     LLAMA_SERVER_URL=http://127.0.0.1:18080 LLAMA_EMBEDDINGS_URL=http://127.0.0.1:18081 npx vitest run --project node
 */
import { describe, expect, it } from "vitest";
import type { Target, World } from "../../src/backends/backend.ts";
import { openai } from "../../src/backends/openai/index.ts";
import type { Answer, TaskInput, TaskName, TaskOutput } from "../../src/tasks/task.ts";
import type { ChatChunk, ChatInput } from "../../src/tasks/text-generation.ts";
import { drain, failureOf, MODEL } from "../backends/upstream.ts";

const CHAT_URL = process.env.LLAMA_SERVER_URL;
const EMBEDDINGS_URL = process.env.LLAMA_EMBEDDINGS_URL;

const world: World = { fetch, now: Date.now, uuid: () => crypto.randomUUID(), waitUntil: () => {} };

function ask<Name extends TaskName>(
	url: string,
	task: Name,
	input: TaskInput<Name>,
	signal = new AbortController().signal,
): Promise<Answer<Name>> {
	const target: Target = {
		backend: "llama",
		kind: "openai",
		url: `${url}/v1`,
		model: "any",
		headers: {},
		timeouts: { headerMs: 20_000, idleMs: 10_000, totalMs: 25_000 },
	};
	const entry = openai(target, world)[task];
	if (!entry) throw new Error(`no ${task}`);
	return entry(input, { model: MODEL, signal });
}

async function outputOf<Name extends TaskName>(answer: Promise<Answer<Name>>): Promise<TaskOutput<Name>> {
	const settled = await answer;
	if (settled.kind !== "value") throw new Error("a stream");
	return settled.output;
}

async function streamOf(answer: Promise<Answer<"text-generation">>): Promise<ReadableStream<Uint8Array>> {
	const settled = await answer;
	if (settled.kind !== "stream") throw new Error("a value");
	return settled.events;
}

async function chunksOf(answer: Promise<Answer<"text-generation">>): Promise<ChatChunk[]> {
	const { text, error } = await drain(await streamOf(answer));
	expect(error).toBeUndefined();
	const events = text.split("\n\n");
	expect(events.slice(-2)).toEqual(["data: [DONE]", ""]);
	return events.slice(0, -2).map((event) => JSON.parse(event.slice("data: ".length)));
}

const textOf = (chunks: ChatChunk[]) =>
	chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? "")).join("");

const HI: ChatInput = {
	messages: [{ role: "user", content: "hi" }],
	stream: false,
	max_tokens: 8,
	temperature: 0,
};

/** A suite that no engine was given for says so. */
function live(name: string, variable: string, url: string | undefined, declare: (url: string) => void): void {
	if (!url) console.info(`${name}: skipped, set ${variable} to run it against an engine`);
	describe.skipIf(!url)(name, () => declare(url ?? ""));
}

live("llama-server", "LLAMA_SERVER_URL", CHAT_URL, (url) => {
	it("chats, and counts", async () => {
		const { object, choices, usage } = await outputOf(ask(url, "text-generation", HI));
		expect(object).toBe("chat.completion");
		expect(choices).toMatchObject([{ index: 0, message: { role: "assistant" }, finish_reason: "length" }]);
		expect(usage?.completion_tokens).toBe(8);
		expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + 8);
	});

	it("streams what it would have said at once, with its usage", async () => {
		const whole = await outputOf(ask(url, "text-generation", HI));
		const chunks = await chunksOf(ask(url, "text-generation", { ...HI, stream: true }));
		expect(textOf(chunks)).toBe(whole.choices[0]?.message.content);
		expect(chunks.at(-1)?.usage).toMatchObject({
			completion_tokens: 8,
			prompt_tokens: whole.usage?.prompt_tokens,
		});
	});

	it("streams two choices", async () => {
		const chunks = await chunksOf(ask(url, "text-generation", { ...HI, n: 2, stream: true }));
		const finished = chunks.flatMap(({ choices }) => choices).filter(({ finish_reason }) => finish_reason);
		expect(finished.map(({ index }) => index).sort()).toEqual([0, 1]);
	});

	it("continues a raw prompt as a chat, whole and streamed", async () => {
		const raw: ChatInput = { ...HI, messages: [], prompt: "hi" };
		const whole = await outputOf(ask(url, "text-generation", raw));
		expect(whole.object).toBe("chat.completion");
		const chunks = await chunksOf(ask(url, "text-generation", { ...raw, stream: true }));
		expect(chunks[0]).toMatchObject({
			object: "chat.completion.chunk",
			choices: [{ delta: { role: "assistant" } }],
		});
		expect(textOf(chunks)).toBe(whole.choices[0]?.message.content);
	});

	it("takes every field of a chat", async () => {
		const { choices } = await outputOf(
			ask(url, "text-generation", {
				...HI,
				messages: [{ role: "developer", content: "Be short." }, ...HI.messages],
				top_p: 0.9,
				top_k: 40,
				seed: 1,
				repetition_penalty: 1.1,
				frequency_penalty: 0.1,
				presence_penalty: 0.1,
				stop: ["\n\n"],
				logprobs: true,
				top_logprobs: 2,
				reasoning_effort: null,
				user: "u",
			}),
		);
		expect(choices[0]?.logprobs).toBeTruthy();
	});

	it("is held to a JSON schema by the engine's grammar", async () => {
		const schema = { type: "object", properties: { yes: { type: "boolean" } }, required: ["yes"] };
		const { choices } = await outputOf(
			ask(url, "text-generation", {
				...HI,
				max_tokens: 60,
				response_format: { type: "json_schema", json_schema: { name: "answer", schema } },
			}),
		);
		expect(JSON.parse(choices[0]?.message.content ?? "")).toEqual({ yes: expect.any(Boolean) });
	});

	it("is refused with the engine's own words", async () => {
		const long: ChatInput = { ...HI, messages: [{ role: "user", content: "a ".repeat(50_000) }] };
		expect(await failureOf(ask(url, "text-generation", long))).toMatchObject({
			key: "engineRefused",
			description: expect.stringContaining("context size"),
		});
	});

	it("has no speech", async () => {
		expect(await failureOf(ask(url, "text-to-speech", { text: "a", encoding: "mp3" }))).toMatchObject({
			key: "noSuchModel",
		});
	});

	it.each(["cancels", "leaves"])("stops working when the caller %s", async (how) => {
		const caller = new AbortController();
		// Goes on for ever, given `--context-shift`: nothing but the cancelling can end it.
		const endless: ChatInput = {
			...HI,
			stream: true,
			max_tokens: 10_000_000,
			passthrough: { ignore_eos: true },
		};
		const reader = (await streamOf(ask(url, "text-generation", endless, caller.signal))).getReader();
		await reader.read();
		if (how === "cancels") await reader.cancel();
		else caller.abort();
		let busy = true;
		// Each question takes the server a moment; it stops between two tokens.
		for (let asked = 0; busy && asked < 500; asked++) {
			const slots = (await (await fetch(`${url}/slots`)).json()) as { is_processing: boolean }[];
			busy = slots.some((slot) => slot.is_processing);
		}
		expect(busy).toBe(false);
	});
});

live("llama-server --embeddings", "LLAMA_EMBEDDINGS_URL", EMBEDDINGS_URL, (url) => {
	it("embeds a batch in its order", async () => {
		const embed = async (texts: string[]) => outputOf(ask(url, "text-embeddings", { texts }));
		const both = await embed(["a", "b c"]);
		expect(both.vectors).toHaveLength(2);
		expect(both.usage?.prompt_tokens).toBeGreaterThan(1);
		const [alone] = (await embed(["b c"])).vectors;
		const cosine = (alone ?? []).reduce((sum, value, at) => sum + value * (both.vectors[1]?.[at] ?? 0), 0);
		expect(cosine).toBeCloseTo(1, 3);
	});
});
