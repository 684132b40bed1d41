/**
 * The `openai` backend against a real engine, where one is given (LLAMA_SERVER_URL and, for embeddings,
 * LLAMA_EMBEDDINGS_URL), else against the replies that llama-server gave to these very requests
 * (`test/fixtures/openai/llama-cpp/live.json`; RECORD=1 writes them anew). Any model does whose vocabulary can write
 * JSON; answers are judged by their shape.
 *
 *     llama-server -m MODEL.gguf --jinja --context-shift --port 18080
 *     llama-server -m MODEL.gguf --embeddings --pooling mean --port 18081
 *     LLAMA_SERVER_URL=http://127.0.0.1:18080 LLAMA_EMBEDDINGS_URL=http://127.0.0.1:18081 npx vitest run --project node
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import type { BackendServices, Target } from "../../src/backends/backend.ts";
import { openai } from "../../src/backends/openai/index.ts";
import { startNativeTimer } from "../../src/core/lazy-timer.ts";
import type { Answer, TaskInput, TaskName, TaskOutput } from "../../src/tasks/task.ts";
import type { ChatChunk, ChatInput } from "../../src/tasks/text-generation/types.ts";
import { drain, failureOf, MODEL } from "../backends/upstream.ts";

const CHAT_URL = process.env.LLAMA_SERVER_URL;
const EMBEDDINGS_URL = process.env.LLAMA_EMBEDDINGS_URL;

const RECORDS = "test/fixtures/openai/llama-cpp/live.json";
const RECORDING = process.env.RECORD === "1";

interface Recorded {
	status: number;
	type: string;
	body: string;
}

const recorded: Record<string, Recorded> = RECORDING ? {} : JSON.parse(readFileSync(RECORDS, "utf8"));

/** By path and body. A host without a name has no engine: its replies are the recorded ones. */
const replayed: typeof fetch = async (input, init) => {
	const url = new URL(String(input));
	const key = createHash("sha256").update(`${url.pathname} ${init?.body}`).digest("hex").slice(0, 16);
	if (url.hostname !== "recorded") {
		const response = await fetch(input, init);
		if (!RECORDING) return response;
		const [kept, passed] = response.body ? response.body.tee() : [null, null];
		const { status, headers } = response;
		void new Response(kept).text().then(
			(body) => {
				recorded[key] = { status, type: headers.get("content-type") ?? "", body };
			},
			() => {},
		);
		return new Response(passed, response);
	}
	const reply = recorded[key];
	if (!reply) throw new Error(`${url.pathname}: nothing is recorded of this request`);
	return new Response(reply.body, { status: reply.status, headers: { "content-type": reply.type } });
};

const services: BackendServices = {
	fetch: replayed,
	now: Date.now,
	uuid: () => crypto.randomUUID(),
	waitUntil: () => {},
	startTimer: startNativeTimer,
};

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
	const handler = openai(target, services)[task];
	if (!handler) throw new Error(`no ${task}`);
	return handler(input, { model: MODEL, signal });
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

const CHAT = CHAT_URL ?? "http://recorded";
const EMBEDDINGS = EMBEDDINGS_URL ?? "http://recorded";

afterAll(() => {
	if (RECORDING) writeFileSync(RECORDS, `${JSON.stringify(recorded, null, "\t")}\n`);
});

describe("llama-server", () => {
	const url = CHAT;

	it("chats, and counts", async () => {
		const { object, choices, usage } = await outputOf(ask(url, "text-generation", HI));
		expect(object).toBe("chat.completion");
		expect(choices).toMatchObject([{ index: 0, message: { role: "assistant" }, finish_reason: "length" }]);
		expect(usage?.completion_tokens).toBe(8);
		expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + 8);
	});

	it("streams the same text as a complete reply, with its usage", async () => {
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
			key: "contextWindowExceeded",
			description: expect.stringContaining("context size"),
		});
		const image = { url: "data:image/png;base64,iVBORw0KGgo=" };
		const seen: ChatInput = {
			...HI,
			messages: [{ role: "user", content: [{ type: "image_url", image_url: image }] }],
		};
		expect(await failureOf(ask(url, "text-generation", seen))).toMatchObject({
			key: "engineRefused",
			description: expect.stringContaining("image input is not supported"),
			retryable: false,
		});
		expect(await failureOf(ask(url, "text-embeddings", { texts: ["a"] }))).toMatchObject({
			key: "engineRefused",
			description: expect.stringContaining("does not support embeddings"),
			retryable: true,
		});
	});

	it("is billed for each of two choices", async () => {
		const { choices, usage } = await outputOf(ask(url, "text-generation", { ...HI, n: 2 }));
		expect(choices.map(({ finish_reason }) => finish_reason)).toEqual(["length", "length"]);
		expect(usage?.completion_tokens).toBe(16);
	});

	it("has no speech", async () => {
		expect(await failureOf(ask(url, "text-to-speech", { text: "a", encoding: "mp3" }))).toMatchObject({
			key: "noSuchModel",
		});
	});

	// Of these nothing can be recorded.
	it.skipIf(!CHAT_URL).each(["cancels", "leaves"])("stops working when the caller %s", async (how) => {
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

describe("llama-server --embeddings", () => {
	const url = EMBEDDINGS;

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
