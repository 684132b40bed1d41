/** Chat, in every form, through a gateway whose only engine is another Ganglion. Other tasks: `loop-tasks.test.ts`. */
import { describe, expect, it } from "vitest";
import { BASE } from "./gateway.ts";
import {
	BY_BINDING,
	BY_OPENAI,
	BY_REST,
	expectSameFrames,
	expectSameJson,
	first,
	sendToBoth,
} from "./loop.ts";

const SECONDS = { openai: BY_OPENAI, "workers-ai": BY_REST, "workers-ai by a binding": BY_BINDING };

const ALICE = [
	{ role: "user", content: "My name is Alice." },
	{ role: "assistant", content: "Hello!" },
	{ role: "user", content: "Reply with exactly: Your name is Alice." },
];
const CALCULATOR = {
	type: "function",
	function: {
		name: "calculator",
		description: "Evaluate an arithmetic expression",
		parameters: {
			type: "object",
			properties: { expression: { type: "string", description: "e.g. 1 + 1" } },
			required: ["expression"],
		},
	},
};
const SCHEMA = {
	type: "object",
	properties: {
		name: { type: "string" },
		mood: { enum: ["happy", "sad"] },
		tags: { type: "array", items: { type: "string" }, minItems: 1 },
	},
	required: ["name", "mood", "tags"],
};
const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const KIMI = "@cf/moonshotai/kimi-k2.6";

describe.each(Object.entries(SECONDS))("the gateway in front of itself, as %s", (name, second) => {
	it.each([LLAMA, KIMI])("returns the same chat answer: %s", async (model) => {
		expect(JSON.stringify(await expectSameJson(second, `/run/${model}`, { messages: ALICE }))).toContain(
			"Alice",
		);
		await expectSameJson(second, "/v1/chat/completions", { model, messages: ALICE });
		await expectSameJson(second, "/v1/responses", { model, input: ALICE });
	});

	it.each([LLAMA, KIMI])("returns the same stream: %s", async (model) => {
		expect((await expectSameFrames(second, `/run/${model}`, { messages: ALICE, stream: true })).at(-1)).toBe(
			"[DONE]",
		);
		await expectSameFrames(second, "/v1/chat/completions", { model, messages: ALICE, stream: true });
		await expectSameFrames(second, "/v1/responses", { model, input: ALICE, stream: true });
	});

	it("returns the same tool calls, complete and streamed", async () => {
		const messages = [{ role: "user", content: 'Use the calculator tool with {"expression":"17 * 23"}' }];
		const answer = await expectSameJson(second, "/v1/chat/completions", {
			model: KIMI,
			messages,
			tools: [CALCULATOR],
		});
		expect(JSON.stringify(answer)).toContain('"arguments":"{\\"expression\\":\\"17 * 23\\"}"');
		await expectSameFrames(second, "/v1/chat/completions", {
			model: KIMI,
			messages,
			tools: [CALCULATOR],
			stream: true,
		});
		await expectSameJson(second, `/run/${LLAMA}`, { messages, tools: [CALCULATOR] });
		await expectSameFrames(second, `/run/${LLAMA}`, { messages, tools: [CALCULATOR], stream: true });
	});

	it("returns the same structured output", async () => {
		const messages = [
			{ role: "user", content: 'Reply with exactly: {"name":"Alice","mood":"sad","tags":["x"]}' },
		];
		const response_format = { type: "json_schema", json_schema: { name: "person", schema: SCHEMA } };
		await expectSameJson(second, "/v1/chat/completions", { model: KIMI, messages, response_format });
		expect(
			await expectSameJson(second, `/run/${LLAMA}`, {
				messages,
				response_format: { type: "json_schema", json_schema: SCHEMA },
			}),
		).toMatchObject({ result: { response: { mood: "sad" } } });
	});

	it("returns the same completion of a raw prompt", async () => {
		await expectSameJson(second, `/run/${LLAMA}`, {
			prompt: "Reply with exactly: Your name is Alice.",
			raw: true,
		});
		const prompt = { prompt: "Once upon a time", stream: true };
		await expectSameFrames(second, "/v1/completions", { model: LLAMA, ...prompt });
		// A binding has no route for completions, and these models have no native raw prompt.
		if (!name.endsWith("binding"))
			await expectSameFrames(second, "/v1/completions", { model: KIMI, ...prompt });
	});

	it("returns the same embeddings, in all formats", async () => {
		await expectSameJson(second, "/v1/embeddings", { model: "@cf/baai/bge-m3", input: ["a", "b"] });
		await expectSameJson(second, "/run/@cf/baai/bge-small-en-v1.5", { text: ["a", "b"] });
		await expectSameJson(second, "/run/@cf/baai/bge-m3", {
			query: "a cat",
			contexts: [{ text: "cats" }, { text: "dogs" }],
		});
	});

	it("returns the same images, speech and transcriptions", async () => {
		await expectSameJson(second, "/run/@cf/black-forest-labs/flux-1-schnell", { prompt: "a fox", steps: 4 });
		const [speech, again] = await sendToBoth(second, "/run/@cf/deepgram/aura-1", {
			text: "Good morning to you.",
		});
		const bytes = new Uint8Array(await speech.arrayBuffer());
		expect(new Uint8Array(await again.arrayBuffer())).toEqual(bytes);
		const transcription = await second.app.request(`${BASE}/run/@cf/openai/whisper-large-v3-turbo`, {
			method: "POST",
			body: JSON.stringify({ audio: btoa(String.fromCharCode(...bytes)) }),
			headers: { "content-type": "application/json" },
		});
		expect(await transcription.json()).toMatchObject({ result: { text: "Good morning to you." } });
	});

	it("returns the same validation error", async () => {
		const answers = await Promise.all(
			[first, second].map(({ post }) => post(`/run/${LLAMA}`, { messages: [{ role: "user" }] })),
		);
		const [a, b] = await Promise.all(answers.map((answer) => answer.json()));
		expect(b).toEqual(a);
	});
});
