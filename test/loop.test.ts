/**
 * The `openai` backend pointed at our own OpenAI surface: one gateway on the simulator, a second whose only engine is
 * the first. What the second answers must be what the first answers.
 */
import { describe, expect, it } from "vitest";
import { BASE, testGateway } from "./gateway.ts";

const first = testGateway();
const second = testGateway({
	vars: {
		BACKENDS: { first: { kind: "openai", url: `${BASE}/v1` } },
		ROUTES: { "*": [{ backend: "first" }] },
	},
	fetch: async (input, init) => first.app.fetch(new Request(input, init)),
});

const ALICE = [
	{ role: "user", content: "My name is Alice." },
	{ role: "assistant", content: "Hello!" },
	{ role: "user", content: "What is my name?" },
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

/** Ids and times belong to a run, not to an answer. */
const VOLATILE = new Set(["id", "created", "created_at", "call_id", "item_id", "system_fingerprint"]);
function stable(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(stable);
	if (typeof value !== "object" || value === null) return value;
	return Object.fromEntries(
		Object.entries(value).flatMap(([key, inner]) => (VOLATILE.has(key) ? [] : [[key, stable(inner)]])),
	);
}
const frames = (text: string): unknown[] =>
	text
		.split("\n\n")
		.filter(Boolean)
		.map((event) => event.replace(/^event: .*\n/, "").replace(/^data: /, ""))
		.map((data) => (data === "[DONE]" ? data : stable(JSON.parse(data))));

async function both(path: string, body: object): Promise<[Response, Response]> {
	const answers = await Promise.all([first.post(path, body), second.post(path, body)]);
	for (const [i, answer] of answers.entries())
		expect(answer.status, `${i}: ${answer.ok ? "" : await answer.clone().text()}`).toBe(200);
	expect(answers[1].headers.get("x-ganglion-backend")).toBe("first");
	return answers;
}

async function sameJson(path: string, body: object): Promise<unknown> {
	const [a, b] = await both(path, body);
	const answer = stable(await a.json());
	expect(stable(await b.json())).toEqual(answer);
	return answer;
}

async function sameFrames(path: string, body: object): Promise<unknown[]> {
	const [a, b] = await both(path, body);
	const answer = frames(await a.text());
	expect(frames(await b.text())).toEqual(answer);
	return answer;
}

describe("the gateway in front of itself", () => {
	it.each([LLAMA, KIMI])("chats alike: %s", async (model) => {
		expect(JSON.stringify(await sameJson(`/run/${model}`, { messages: ALICE }))).toContain("Alice");
		await sameJson("/v1/chat/completions", { model, messages: ALICE });
		await sameJson("/v1/responses", { model, input: ALICE });
	});

	it.each([LLAMA, KIMI])("streams alike: %s", async (model) => {
		expect((await sameFrames(`/run/${model}`, { messages: ALICE, stream: true })).at(-1)).toBe("[DONE]");
		await sameFrames("/v1/chat/completions", { model, messages: ALICE, stream: true });
		await sameFrames("/v1/responses", { model, input: ALICE, stream: true });
	});

	it("calls tools alike, whole and streamed", async () => {
		const messages = [{ role: "user", content: "What is 17 * 23?" }];
		const answer = await sameJson("/v1/chat/completions", { model: KIMI, messages, tools: [CALCULATOR] });
		expect(JSON.stringify(answer)).toContain("17 * 23");
		await sameFrames("/v1/chat/completions", { model: KIMI, messages, tools: [CALCULATOR], stream: true });
		await sameJson(`/run/${LLAMA}`, { messages, tools: [CALCULATOR] });
		await sameFrames(`/run/${LLAMA}`, { messages, tools: [CALCULATOR], stream: true });
	});

	it("structures its output alike", async () => {
		const messages = [{ role: "user", content: "Describe Alice, who is happy." }];
		const response_format = { type: "json_schema", json_schema: { name: "person", schema: SCHEMA } };
		await sameJson("/v1/chat/completions", { model: KIMI, messages, response_format });
		expect(
			await sameJson(`/run/${LLAMA}`, {
				messages,
				response_format: { type: "json_schema", json_schema: SCHEMA },
			}),
		).toMatchObject({ result: { response: { mood: "happy" } } });
	});

	it("completes raw prompts alike", async () => {
		await sameJson(`/run/${LLAMA}`, { prompt: "My name is Alice. What is my name?", raw: true });
		await sameFrames("/v1/completions", { model: LLAMA, prompt: "Once upon a time", stream: true });
	});

	it("embeds alike, in all shapes", async () => {
		await sameJson("/v1/embeddings", { model: "@cf/baai/bge-m3", input: ["a", "b"] });
		await sameJson("/run/@cf/baai/bge-small-en-v1.5", { text: ["a", "b"] });
		await sameJson("/run/@cf/baai/bge-m3", {
			query: "a cat",
			contexts: [{ text: "cats" }, { text: "dogs" }],
		});
	});

	it("paints and hears alike", async () => {
		await sameJson("/run/@cf/black-forest-labs/flux-1-schnell", { prompt: "a fox", steps: 4 });
		const [speech, again] = await both("/run/@cf/deepgram/aura-1", { text: "Good morning to you." });
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
