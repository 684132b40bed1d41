/** Chat, in every form, through a gateway whose only engine is another of our own; `loop-tasks.test.ts` has the rest. */
import { describe, expect, it } from "vitest";
import { BASE } from "./gateway.ts";
import { BY_BINDING, BY_OPENAI, BY_REST, both, first, sameFrames, sameJson } from "./loop.ts";

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
	it.each([LLAMA, KIMI])("chats alike: %s", async (model) => {
		expect(JSON.stringify(await sameJson(second, `/run/${model}`, { messages: ALICE }))).toContain("Alice");
		await sameJson(second, "/v1/chat/completions", { model, messages: ALICE });
		await sameJson(second, "/v1/responses", { model, input: ALICE });
	});

	it.each([LLAMA, KIMI])("streams alike: %s", async (model) => {
		expect((await sameFrames(second, `/run/${model}`, { messages: ALICE, stream: true })).at(-1)).toBe(
			"[DONE]",
		);
		await sameFrames(second, "/v1/chat/completions", { model, messages: ALICE, stream: true });
		await sameFrames(second, "/v1/responses", { model, input: ALICE, stream: true });
	});

	it("calls tools alike, whole and streamed", async () => {
		const messages = [{ role: "user", content: 'Use the calculator tool with {"expression":"17 * 23"}' }];
		const answer = await sameJson(second, "/v1/chat/completions", {
			model: KIMI,
			messages,
			tools: [CALCULATOR],
		});
		expect(JSON.stringify(answer)).toContain('"arguments":"{\\"expression\\":\\"17 * 23\\"}"');
		await sameFrames(second, "/v1/chat/completions", {
			model: KIMI,
			messages,
			tools: [CALCULATOR],
			stream: true,
		});
		await sameJson(second, `/run/${LLAMA}`, { messages, tools: [CALCULATOR] });
		await sameFrames(second, `/run/${LLAMA}`, { messages, tools: [CALCULATOR], stream: true });
	});

	it("structures its output alike", async () => {
		const messages = [
			{ role: "user", content: 'Reply with exactly: {"name":"Alice","mood":"sad","tags":["x"]}' },
		];
		const response_format = { type: "json_schema", json_schema: { name: "person", schema: SCHEMA } };
		await sameJson(second, "/v1/chat/completions", { model: KIMI, messages, response_format });
		expect(
			await sameJson(second, `/run/${LLAMA}`, {
				messages,
				response_format: { type: "json_schema", json_schema: SCHEMA },
			}),
		).toMatchObject({ result: { response: { mood: "sad" } } });
	});

	it("completes raw prompts alike", async () => {
		await sameJson(second, `/run/${LLAMA}`, { prompt: "Reply with exactly: Your name is Alice.", raw: true });
		const prompt = { prompt: "Once upon a time", stream: true };
		await sameFrames(second, "/v1/completions", { model: LLAMA, ...prompt });
		// A binding has no such route, and these models have no raw prompt of their own.
		if (!name.endsWith("binding")) await sameFrames(second, "/v1/completions", { model: KIMI, ...prompt });
	});

	it("embeds alike, in all shapes", async () => {
		await sameJson(second, "/v1/embeddings", { model: "@cf/baai/bge-m3", input: ["a", "b"] });
		await sameJson(second, "/run/@cf/baai/bge-small-en-v1.5", { text: ["a", "b"] });
		await sameJson(second, "/run/@cf/baai/bge-m3", {
			query: "a cat",
			contexts: [{ text: "cats" }, { text: "dogs" }],
		});
	});

	it("paints and hears alike", async () => {
		await sameJson(second, "/run/@cf/black-forest-labs/flux-1-schnell", { prompt: "a fox", steps: 4 });
		const [speech, again] = await both(second, "/run/@cf/deepgram/aura-1", { text: "Good morning to you." });
		const bytes = new Uint8Array(await speech.arrayBuffer());
		expect(new Uint8Array(await again.arrayBuffer())).toEqual(bytes);
		const heard = await second.app.request(`${BASE}/run/@cf/openai/whisper-large-v3-turbo`, {
			method: "POST",
			body: JSON.stringify({ audio: btoa(String.fromCharCode(...bytes)) }),
			headers: { "content-type": "application/json" },
		});
		expect(await heard.json()).toMatchObject({ result: { text: "Good morning to you." } });
	});

	it("says the same of what is wrong", async () => {
		const answers = await Promise.all(
			[first, second].map(({ post }) => post(`/run/${LLAMA}`, { messages: [{ role: "user" }] })),
		);
		const [a, b] = await Promise.all(answers.map((answer) => answer.json()));
		expect(b).toEqual(a);
	});
});
