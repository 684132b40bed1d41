/** The `workers-ai` backend on the runtime's own `Ai` object, which has no gateway's code in it. */
import { describe, expect, it } from "vitest";
import type { AiBinding, BackendServices, BackendTasks, Target } from "../../../src/backends/backend.ts";
import { workersAi } from "../../../src/backends/workers-ai/index.ts";
import { startNativeTimer } from "../../../src/core/lazy-timer.ts";
import { PRODUCT_MODELS } from "../../../src/models/catalog.ts";
import type { TaskInput, TaskName } from "../../../src/tasks/task.ts";
import { AI } from "./ai.ts";

const services: BackendServices = {
	fetch: () => Promise.reject(new Error("the binding is asked, not an address")),
	now: () => Date.now(),
	uuid: () => crypto.randomUUID(),
	waitUntil: () => {},
	startTimer: startNativeTimer,
};

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const chat = { messages: [{ role: "user" as const, content: "Reply with exactly: Your name is Alice." }] };

async function ask<Name extends TaskName>(
	task: Name,
	id: string,
	input: TaskInput<Name>,
	signal = new AbortController().signal,
) {
	const model = PRODUCT_MODELS.find((each) => each.id === id);
	if (!model) throw new Error(`no model ${id}`);
	const target: Target = {
		backend: "cf",
		kind: "workers-ai",
		url: "",
		model: id,
		headers: {},
		timeouts: { headerMs: 10_000, idleMs: 10_000, totalMs: 20_000 },
		binding: AI as unknown as AiBinding,
	};
	const entry: BackendTasks[Name] = workersAi(target, services)[task];
	if (!entry) throw new Error(`no ${task}`);
	return entry(input, { model, signal });
}

async function outputOf<Name extends TaskName>(task: Name, id: string, input: TaskInput<Name>) {
	const answer = await ask(task, id, input);
	if (answer.kind !== "value") throw new Error("a stream");
	return answer.output;
}

describe("Workers AI by the runtime's own binding", () => {
	it("chats", async () => {
		const { choices } = await outputOf("text-generation", LLAMA, { ...chat, stream: false });
		expect(choices[0]?.message.content).toBe("Your name is Alice.");
	});

	it("streams, and stops when its reader leaves", async () => {
		const answer = await ask("text-generation", LLAMA, { ...chat, stream: true });
		if (answer.kind !== "stream") throw new Error("a value");
		const text = await new Response(answer.events).text();
		expect(text).toMatch(/"content":"Your"/);
		expect(text.endsWith("data: [DONE]\n\n")).toBe(true);

		const left = await ask("text-generation", LLAMA, { ...chat, stream: true });
		if (left.kind !== "stream") throw new Error("a value");
		await left.events.cancel();
	});

	it("speaks, and hears what it said, in bytes and in streams", async () => {
		const speech = await outputOf("text-to-speech", "@cf/deepgram/aura-1", {
			text: "Buy milk.",
			encoding: "mp3",
		});
		expect(speech.contentType).toBe("audio/mpeg");
		for (const id of ["@cf/openai/whisper", "@cf/openai/whisper-large-v3-turbo", "@cf/deepgram/nova-3"]) {
			const heard = await outputOf("speech-recognition", id, { audio: speech, task: "transcribe" });
			expect(heard.text, id).toBe("Buy milk.");
		}
	});

	it("paints, by JSON and by a form", async () => {
		const image = { prompt: "a fox", width: 256, height: 256, images: [], format: "jpeg" as const };
		for (const id of ["@cf/leonardo/lucid-origin", "@cf/black-forest-labs/flux-2-klein-4b"]) {
			const painted = await outputOf("text-to-image", id, image);
			expect(painted.contentType, id).toBe("image/jpeg");
		}
	});

	it("keeps the code of a refusal", async () => {
		const input = { text: "a", max_length: 5 };
		await expect(ask("summarization", LLAMA, input)).rejects.toMatchObject({ key: "badInput", code: 5006 });
	});

	it("asks nothing for a caller who has left", async () => {
		const input = { ...chat, stream: false };
		await expect(ask("text-generation", LLAMA, input, AbortSignal.abort())).rejects.toMatchObject({
			key: "aborted",
		});
	});
});
