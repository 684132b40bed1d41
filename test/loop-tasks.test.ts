/**
 * Every input shape of the catalogue through a gateway whose `workers-ai` backend is another Ganglion, by REST and by the
 * binding: the JSON, bytes and frames are equal to those of the other gateway.
 */
import { describe, expect, it } from "vitest";
import { PRODUCT_MODELS } from "../src/models/catalog.ts";
import type { InputShape } from "../src/models/family.ts";
import { can, type Model } from "../src/models/model.ts";
import { base64, png, wav } from "./dialects/samples.ts";
import { type BodyOf, BY_BINDING, BY_REST, expectSameFrames, expectSameJson, sendToBoth } from "./loop.ts";

const messages = [
	{ role: "user", content: "My name is Alice." },
	{ role: "assistant", content: "Hello!" },
	{ role: "user", content: "Reply with exactly: Your name is Alice." },
];
const imageBytes = png(64, 48);
const audioBytes = wav();
const file = (bytes: Uint8Array<ArrayBuffer>, type: string) => new Blob([bytes], { type });

/** A form for FLUX.2. */
function form(): FormData {
	const fields = new FormData();
	fields.append("prompt", "a fox");
	fields.append("width", "256");
	fields.append("height", "256");
	fields.append("seed", "7");
	fields.append("input_image_0", new File([imageBytes], "a.png", { type: "image/png" }));
	return fields;
}

/** One or more bodies for each shape of the catalogue. */
const BODIES: Partial<Record<InputShape, BodyOf[]>> = {
	chat: [{ messages }, { prompt: "Hello" }, { prompt: "Hello", raw: true, max_tokens: 2 }],
	"chat-legacy": [{ messages }],
	"chat-batch": [{ messages, temperature: 0.2, seed: 5 }],
	"chat-batch-2000": [{ messages }, { prompt: "Hello" }],
	"chat-guided": [{ messages, guided_json: { type: "object", properties: { name: { type: "string" } } } }],
	"chat-guided-batch": [{ messages }],
	"chat-image": [{ messages: [{ role: "user", content: "What?" }], image: Array.from(imageBytes) }],
	"chat-guard": [{ messages: messages.slice(0, 1) }],
	"chat-gpt-oss": [{ messages }, { input: "What is 2 + 2?" }],
	"chat-openai": [{ messages, n: 2 }],
	"decision-clef": [
		{
			state: { mail: "My parcel is late." },
			questions: {
				complaint: { type: "noul", instructions: "It is a complaint." },
				kind: { type: "choice", instructions: "What?", criteria: { delivery: "a parcel", price: "money" } },
				mood: { type: "score", instructions: "How angry?", criteria: ["calm", "annoyed", "furious"] },
			},
		},
	],
	"embeddings-bge": [{ text: ["a", "b"] }, { text: "a", pooling: "cls" }],
	"embeddings-m3": [
		{ text: ["a", "b"] },
		{ query: "a cat", contexts: [{ text: "cats" }, { text: "dogs" }] },
		{ contexts: Array.from({ length: 130 }, (_, at) => ({ text: `text ${at}` })) },
	],
	"embeddings-text": [{ text: ["a", "b"] }],
	"embeddings-qwen3": [{ queries: "a", documents: ["b", "c"], instruction: "Find." }],
	rerank: [{ query: "cats", contexts: [{ text: "dogs bark" }, { text: "cats purr" }], top_k: 1 }],
	"text-classification": [{ text: "I love it." }],
	summarization: [{ input_text: "Cats purr. Dogs bark. Cows moo.", max_length: 8 }],
	"translation-m2m": [{ text: "Good night", source_lang: "en", target_lang: "fr" }],
	"translation-indic": [{ text: ["Good night", "Hello"], target_language: "hin_Deva" }],
	"whisper-binary": [
		file(audioBytes, "audio/wav"),
		{ audio: Array.from(audioBytes), source_lang: "de", target_lang: "en" },
	],
	"whisper-b64": [{ audio: base64(audioBytes), task: "translate", language: "de", initial_prompt: "Names" }],
	"asr-nova": [file(audioBytes, "audio/wav")],
	"tts-melotts": [{ prompt: "Good morning", lang: "en" }],
	"tts-aura": [
		{ text: "Good morning" },
		{ text: "Good morning", encoding: "linear16", container: "wav", sample_rate: 8000 },
	],
	"tti-sd": [
		{ prompt: "a fox", negative_prompt: "a cat", width: 256, height: 256, num_steps: 3, seed: 1 },
		{ prompt: "a fox", image_b64: base64(imageBytes), strength: 0.4, guidance: 3 },
	],
	"tti-flux1": [{ prompt: "a fox", steps: 2 }],
	"tti-lucid": [{ prompt: "a fox", width: 300, height: 200, steps: 9 }],
	"tti-phoenix": [{ prompt: "a fox", negative_prompt: "a cat", width: 300, height: 200 }],
	"tti-multipart": [form()],
	"image-classification": [file(imageBytes, "image/png")],
	"object-detection": [file(imageBytes, "image/png")],
	"image-to-text": [{ image: Array.from(imageBytes), prompt: "What?", max_tokens: 9 }],
	moondream: [
		{ image: `data:image/png;base64,${base64(imageBytes)}`, question: "What?", stream: false },
		{ image: `data:image/png;base64,${base64(imageBytes)}`, task: "caption", stream: false },
	],
	"smart-turn": [{ audio: base64(audioBytes), dtype: "uint8" }],
};

/** One model for each pair of shapes. */
const models = [
	...new Map(PRODUCT_MODELS.map((model) => [`${model.input} ${model.output}`, model])).values(),
];
const cases = models.flatMap((model) =>
	(BODIES[model.input] ?? []).map((body, at) => ({
		title: `${model.input} to ${model.output}, ${at + 1}`,
		model,
		body: model.input === "decision-clef" ? { model: selectorOf(model), ...body } : body,
	})),
);
const chats = models.filter(
	(model) => model.task === "Text Generation" && can(model, "streaming") && !model.input.endsWith("guided"),
);

function selectorOf({ id }: Model): string {
	return id.slice(id.lastIndexOf("/") + 1);
}

/** The second gateway calculates the confidence from rounded probabilities, so it differs slightly. */
const roundConfidence = (key: string, value: unknown): unknown =>
	key === "confidence" ? Number(value).toFixed(3) : value;

it("has bodies for every shape except the websocket's", () => {
	const without = models.filter(({ input }) => !BODIES[input]).map(({ input }) => input);
	expect(without).toEqual(["asr-flux-ws"]);
});

const BYTES: ReadonlySet<string> = new Set(["image-png", "image-jpeg", "audio-mpeg"]);

describe.each([
	["by REST", BY_REST],
	["by the binding", BY_BINDING],
])("Workers AI %s", (_, second) => {
	it.each(cases)("returns the same answer: $title", async ({ model, body }) => {
		const path = `/run/${model.id}`;
		if (!BYTES.has(model.output)) {
			await expectSameJson(
				second,
				path,
				body,
				model.output === "decision-answers" ? roundConfidence : undefined,
			);
			return;
		}
		const [a, b] = await sendToBoth(second, path, body);
		expect(b.headers.get("content-type")).toBe(a.headers.get("content-type"));
		expect(new Uint8Array(await b.arrayBuffer())).toEqual(new Uint8Array(await a.arrayBuffer()));
	});

	it.each(chats)("returns the same stream: $input to $output", async ({ id, input }) => {
		const [body] = BODIES[input] ?? [];
		const frames = await expectSameFrames(second, `/run/${id}`, { ...body, stream: true });
		expect(frames.at(-1)).toBe("[DONE]");
		expect(frames.length).toBeGreaterThan(3);
	});

	it("returns the same stream: Moondream", async () => {
		await expectSameFrames(second, "/run/@cf/moondream/moondream3.1-9B-A2B", {
			image: `data:image/png;base64,${base64(imageBytes)}`,
			question: "What?",
		});
	});
});
