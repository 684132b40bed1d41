/** The exact requests and replies of `run`, for tasks with files, and for text beside chats. */
import { describe, expect, it } from "vitest";
import type { AiBinding } from "../../../src/backends/backend.ts";
import { workersAi } from "../../../src/backends/workers-ai/index.ts";
import { bindingFetch } from "../../../src/backends/workers-ai/run.ts";
import type { DecisionInput } from "../../../src/tasks/decision/types.ts";
import type { TaskInput, TaskName, TaskOutput } from "../../../src/tasks/task.ts";
import { outputOf } from "../ask.ts";
import { callOf, failureOf, json, type Responder } from "../upstream.ts";
import { ask, URL } from "./ask.ts";
import { modelOf } from "./models.ts";

const PNG = Uint8Array.fromBase64(
	"iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC",
);
const PNG_LIST = [...PNG];
const WAV_LIST = [82, 73, 70, 70, 0, 0, 0, 0, 87, 65, 86, 69];
const WAV = Uint8Array.from(WAV_LIST);
const WAV_BASE64 = "UklGRgAAAABXQVZF";

interface Sent<Name extends TaskName> {
	output: TaskOutput<Name>;
	path?: string | undefined;
	json?: Record<string, unknown>;
	file?: number[];
	type?: string;
	form?: [string, File | string][];
}

/** The answer to the only request, and the request: its path, and its JSON, file or form. */
async function sent<Name extends TaskName>(
	task: Name,
	model: string,
	input: TaskInput<Name>,
	respond: Responder,
): Promise<Sent<Name>> {
	const asking = ask(task, model, input, respond);
	const output = await outputOf(asking);
	expect(asking.call.requests).toHaveLength(1);
	const [request] = asking.call.requests;
	const body = request?.init.body;
	return {
		output,
		path: request?.url.slice(URL.length),
		...(body instanceof Blob && { file: [...new Uint8Array(await body.arrayBuffer())], type: body.type }),
		...(typeof body === "string" && request && { json: request.json }),
		...(body instanceof FormData && { form: [...body] }),
	};
}

/** The answer of a binding, and the inputs that it got. */
async function sentByBinding<Name extends TaskName>(
	task: Name,
	model: string,
	input: TaskInput<Name>,
	result: unknown,
) {
	const inputs: object[] = [];
	const binding: AiBinding = {
		async run(_, given) {
			inputs.push(given);
			return json(result);
		},
	};
	const target = { kind: "workers-ai" as const, url: "", model, binding };
	const call = callOf(() => json({}), { target, model: modelOf(model) });
	const answer = workersAi(call.target, call.services)[task]?.(input, call);
	return { output: answer && (await outputOf({ answer })), inputs };
}

const result = (value: unknown) => () => json({ result: value });

describe("embeddings", () => {
	const vectors = (count: number, width: number): number[][] =>
		Array.from({ length: count }, (_, i) => new Array<number>(width).fill(i));
	const BGE = "@cf/baai/bge-small-en-v1.5";
	const M3 = "@cf/baai/bge-m3";

	it("are requested with the caller's pooling", async () => {
		const input = { texts: ["a", "b"], pooling: "cls" as const, truncate: true };
		const usage = { prompt_tokens: 3, completion_tokens: 0, total_tokens: 3 };
		expect(await sent("text-embeddings", BGE, input, result({ data: vectors(2, 384), usage }))).toEqual({
			path: `/run/${BGE}`,
			json: { text: ["a", "b"], pooling: "cls" },
			output: { vectors: vectors(2, 384), usage: { prompt_tokens: 3, total_tokens: 3 } },
		});
	});

	it.each([
		[100, "text"],
		[101, "contexts"],
	])("of %i texts by bge-m3 are requested as %s", async (count, name) => {
		const texts = Array.from({ length: count }, (_, i) => `t${i}`);
		const { json: body } = await sent(
			"text-embeddings",
			M3,
			{ texts, truncate: true },
			result({ response: vectors(count, 1024) }),
		);
		expect(body).toEqual({
			[name]: name === "text" ? texts : texts.map((text) => ({ text })),
			truncate_inputs: true,
		});
	});

	it("of other models are requested with texts alone", async () => {
		const QWEN = "@cf/qwen/qwen3-embedding-0.6b";
		const { json: body } = await sent(
			"text-embeddings",
			QWEN,
			{ texts: ["a"] },
			result({ data: vectors(1, 1024) }),
		);
		expect(body).toEqual({ text: ["a"] });
	});

	it("with dimensions use the OpenAI route, except over a binding", async () => {
		const input = { texts: ["a"], dimensions: 1 };
		const reply = () => json({ data: [{ index: 0, embedding: [1] }], result: { data: [[1]] } });
		expect((await sent("text-embeddings", M3, input, reply)).path).toBe("/v1/embeddings");
		const bound = await sentByBinding("text-embeddings", M3, input, { data: [[1]] });
		expect(bound.inputs).toEqual([{ text: ["a"], truncate_inputs: undefined }]);
	});

	it.each([{ data: [[1]] }, { data: [] }, {}, { data: [[]] }])("rejects the reply %j", async (reply) => {
		const { answer } = ask("text-embeddings", BGE, { texts: ["a", "b"] }, result(reply));
		expect(await failureOf(answer)).toMatchObject({ key: "executionFailed" });
	});
});

describe("text", () => {
	it("is classified", async () => {
		const MODEL = "@cf/huggingface/distilbert-sst-2-int8";
		const labels = [{ label: "POSITIVE", score: 0.9 }];
		expect(await sent("text-classification", MODEL, { text: "a" }, result(labels))).toEqual({
			path: `/run/${MODEL}`,
			json: { text: "a" },
			output: { labels },
		});
	});

	it("is summarized", async () => {
		const MODEL = "@cf/facebook/bart-large-cnn";
		const input = { text: "a", max_length: 9 };
		expect(await sent("summarization", MODEL, input, result({ summary: "s" }))).toEqual({
			path: `/run/${MODEL}`,
			json: { input_text: "a", max_length: 9 },
			output: { summary: "s" },
		});
	});

	it("is translated to Indian languages in one request", async () => {
		const MODEL = "@cf/ai4bharat/indictrans2-en-indic-1B";
		const input = { texts: ["a", "b"], source_lang: "en", target_lang: "hin_Deva" };
		expect(await sent("translation", MODEL, input, result({ translations: ["x", "y"] }))).toEqual({
			path: `/run/${MODEL}`,
			json: { text: ["a", "b"], target_language: "hin_Deva" },
			output: { texts: ["x", "y"] },
		});
		const { answer } = ask("translation", MODEL, input, result({ translations: ["x"] }));
		expect(await failureOf(answer)).toMatchObject({
			description: "The backend 'lab' answered with something that is not 2 translations",
		});
	});

	it("is decided with the media, by the model's own name", async () => {
		const MODEL = "@cf/cloudflare/clef";
		const questions: DecisionInput["questions"] = {
			q: { type: "score", instructions: "How?", criteria: ["low", "high"] },
			r: { type: "noul", instructions: "Is it?", criteria: { true: "y", false: "n" } },
		};
		const score = { type: "score", score: 0.5, probabilities: { "0": 0.5, "1": 0.5 }, confidence: 0.5 };
		const answers = { q: score, r: { type: "noul", noul: 0.3 } };
		const input = { model: "clef", state: "s", questions, images: ["i"], audio: [], videos: ["v"] };
		expect(await sent("decision", MODEL, input, result({ answers, usage: { input_tokens: 4 } }))).toEqual({
			path: `/run/${MODEL}`,
			json: { model: "clef", state: "s", questions, images: ["i"], videos: ["v"] },
			output: {
				answers: { ...answers, q: { ...score, legend: { "0": "low", "1": "high" } } },
				usage: { input_tokens: 4, output_tokens: 0 },
			},
		});
		const legend = { "0": "its own" };
		const others = { ...input, images: [], audio: ["a"], videos: [] };
		const own = await sent(
			"decision",
			MODEL,
			others,
			result({ answers: { ...answers, q: { ...score, legend }, unasked: score } }),
		);
		expect(own.json).toEqual({ model: "clef", state: "s", questions, audio: ["a"] });
		expect(own.output).toEqual({
			answers: { ...answers, q: { ...score, legend } },
			usage: { input_tokens: 0, output_tokens: 0 },
		});
	});
});

describe("a decision", () => {
	it.each([
		["an answer is missing", {}],
		["an answer has another type", { q: { type: "noul", noul: 0.5 } }],
		[
			"a choice was not offered",
			{ q: { type: "choice", choice: "c", probabilities: { c: 1 }, confidence: 1 } },
		],
	])("fails if %s", async (_, answers) => {
		const questions = { q: { type: "choice" as const, instructions: "Which?", criteria: { a: "", b: "" } } };
		const input = { model: "clef", state: "s", questions, images: [], audio: [], videos: [] };
		const { answer } = ask("decision", "@cf/cloudflare/clef", input, result({ answers }));
		expect(await failureOf(answer)).toMatchObject({
			description: "The backend 'lab' answered with something that is not an answer to each question",
		});
	});
});

describe("an image", () => {
	const RESNET = "@cf/microsoft/resnet-50";
	const DETR = "@cf/facebook/detr-resnet-50";
	const labels = [{ label: "cat", score: 0.9 }];

	it("is classified as the body, or over a binding as a list of bytes", async () => {
		expect(await sent("image-classification", RESNET, { image: { bytes: PNG } }, result(labels))).toEqual({
			path: `/run/${RESNET}`,
			file: PNG_LIST,
			type: "image/png",
			output: { labels },
		});
		const unknown = { bytes: Uint8Array.of(1, 2) };
		const typeOf = async (contentType?: string) =>
			(
				await sent(
					"image-classification",
					RESNET,
					{ image: { ...unknown, ...(contentType && { contentType }) } },
					result(labels),
				)
			).type;
		expect(await typeOf()).toBe("application/octet-stream");
		expect(await typeOf("image/x-icon")).toBe("image/x-icon");
		const bound = await sentByBinding("image-classification", RESNET, { image: unknown }, labels);
		expect(bound).toEqual({ inputs: [{ image: [1, 2] }], output: { labels } });
	});

	it("is described from a list of bytes", async () => {
		const LLAVA = "@cf/llava-hf/llava-1.5-7b-hf";
		const input = { image: { bytes: PNG }, prompt: "p", max_tokens: 5 };
		expect(await sent("image-to-text", LLAVA, input, result({ description: "d" }))).toEqual({
			path: `/run/${LLAVA}`,
			json: { image: PNG_LIST, prompt: "p", max_tokens: 5 },
			output: { description: "d" },
		});
	});

	it("has objects, filtered by label and limited", async () => {
		const box = { xmin: 0, ymin: 0, xmax: 1, ymax: 1 };
		const objects = ["Cat", "dog", "cat"].map((label, i) => ({ label, score: i / 10, box }));
		const found = async (fields: object) => {
			const input = { image: { bytes: PNG }, ...fields };
			const { output } = await sent("object-detection", DETR, input, result(objects));
			return output;
		};
		expect(await found({})).toEqual({ objects, width: 2, height: 1 });
		expect(await found({ target: "CAT" })).toEqual({
			objects: [objects[0], objects[2]],
			width: 2,
			height: 1,
		});
		expect(await found({ target: "cat", max_objects: 1 })).toMatchObject({ objects: [objects[0]] });
		const { call, answer } = ask("object-detection", DETR, { image: { bytes: WAV } }, result(objects));
		expect(await failureOf(answer)).toMatchObject({ code: 3030 });
		expect(call.requests).toHaveLength(0);
	});

	const INPUT = { prompt: "p", width: 8, height: 4, images: [], format: "png" as const };

	it("is generated by a model that answers with a file", async () => {
		const SDXL = "@cf/stabilityai/stable-diffusion-xl-base-1.0";
		const reply =
			(type: string, bytes = PNG) =>
			() =>
				new Response(bytes, { headers: { "content-type": type } });
		const input = { ...INPUT, negative_prompt: "n", steps: 3, guidance: 2, seed: 1, strength: 0.5 };
		const { output, ...request } = await sent("text-to-image", SDXL, input, reply("text/plain"));
		expect(request).toEqual({
			path: `/run/${SDXL}`,
			json: { prompt: "p", negative_prompt: "n", width: 8, height: 4, num_steps: 3, guidance: 2, seed: 1 },
		});
		expect(output).toEqual({ bytes: PNG, contentType: "image/png" });
		const started = { ...input, images: [{ bytes: PNG }], mask: { bytes: Uint8Array.of(7) } };
		const { json: body } = await sent("text-to-image", SDXL, started, reply("image/png"));
		expect(body).toMatchObject({ image_b64: PNG.toBase64(), strength: 0.5, mask: [7] });
		const other = await sent("text-to-image", SDXL, input, reply("image/x-own", Uint8Array.of(1)));
		expect(other.output).toMatchObject({ contentType: "image/x-own" });
		const unnamed = await sent("text-to-image", SDXL, input, () => new Response(Uint8Array.of(1)));
		expect(unnamed.output).toEqual({ bytes: Uint8Array.of(1), contentType: "image/png" });
	});

	it("is generated by a model that answers in JSON", async () => {
		const FLUX1 = "@cf/black-forest-labs/flux-1-schnell";
		const { output, json: body } = await sent(
			"text-to-image",
			FLUX1,
			{ ...INPUT, steps: 3, images: [{ bytes: PNG }] },
			result({ image: PNG.toBase64() }),
		);
		expect(body).toEqual({ prompt: "p", steps: 3 });
		expect(output).toEqual({ bytes: PNG, contentType: "image/png" });
		const { answer } = ask("text-to-image", FLUX1, INPUT, result({ image: "AAAA" }));
		expect(await failureOf(answer)).toMatchObject({
			description: "The backend 'lab' answered with something that is not an image",
		});
	});

	it("is generated from a form, without the fields that the model lacks", async () => {
		const KLEIN = "@cf/black-forest-labs/flux-2-klein-4b";
		const DEV = "@cf/black-forest-labs/flux-2-dev";
		const input = { ...INPUT, steps: 3, seed: 0, images: [{ bytes: PNG }, { bytes: PNG }] };
		const fieldsOf = async (model: string) => {
			const { form = [] } = await sent("text-to-image", model, input, result({ image: PNG.toBase64() }));
			return form.map(([name, value]) => [
				name,
				value instanceof File ? `${value.name} ${value.type}` : value,
			]);
		};
		const fields = [
			["prompt", "p"],
			["width", "8"],
			["height", "4"],
			["seed", "0"],
			["input_image_0", "input_image_0.png image/png"],
			["input_image_1", "input_image_1.png image/png"],
		];
		expect((await fieldsOf(KLEIN)).toSorted()).toEqual(fields.toSorted());
		expect((await fieldsOf(DEV)).toSorted()).toEqual([...fields, ["steps", "3"]].toSorted());
	});
});

describe("sound", () => {
	const WHISPER = "@cf/openai/whisper";
	const TURBO = "@cf/openai/whisper-large-v3-turbo";
	const NOVA = "@cf/deepgram/nova-3";
	const audio = { bytes: WAV };
	const words = [{ word: "a", start: 0, end: 1 }];

	it("is transcribed by Whisper from the body, and with languages from a list of bytes", async () => {
		const vtt =
			"WEBVTT\n\n00:00.000 --> 00:01.500\n&lt;a&gt; &amp;\n\n1\n01:02:03.250 --> 01:02:04.000\nb\nc\n\nNOTE x";
		expect(
			await sent(
				"speech-recognition",
				WHISPER,
				{ audio, task: "transcribe" },
				result({ text: "a", words, vtt }),
			),
		).toEqual({
			path: `/run/${WHISPER}`,
			file: WAV_LIST,
			type: "audio/wav",
			output: {
				text: "a",
				words,
				segments: [
					{ start: 0, end: 1.5, text: "<a> &" },
					{ start: 3723.25, end: 3724, text: "b\nc" },
				],
			},
		});
		const inJson = async (fields: object) =>
			(
				await sent(
					"speech-recognition",
					WHISPER,
					{ audio, task: "transcribe", ...fields },
					result({ text: "a" }),
				)
			).json;
		expect(await inJson({ language: "de" })).toEqual({ audio: WAV_LIST, source_lang: "de" });
		expect(await inJson({ task: "translate" })).toEqual({ audio: WAV_LIST, target_lang: "en" });
		expect(
			await sentByBinding("speech-recognition", WHISPER, { audio, task: "transcribe" }, { text: "a" }),
		).toEqual({
			inputs: [{ audio: WAV_LIST, source_lang: undefined, target_lang: undefined }],
			output: { text: "a" },
		});
	});

	it("is transcribed by the third Whisper in JSON", async () => {
		const segment = { start: 0, end: 1, text: "a", avg_logprob: -0.5, temperature: null };
		const reply = {
			text: "a",
			transcription_info: { language: "en", duration: 1.5 },
			segments: [{ ...segment, words }, segment],
		};
		const input = { audio, task: "translate" as const, language: "de", prompt: "p" };
		expect(await sent("speech-recognition", TURBO, input, result(reply))).toEqual({
			path: `/run/${TURBO}`,
			json: { audio: WAV_BASE64, task: "translate", language: "de", initial_prompt: "p" },
			output: {
				text: "a",
				language: "en",
				duration: 1.5,
				segments: Array(2).fill({ start: 0, end: 1, text: "a", avg_logprob: -0.5 }),
				words,
			},
		});
		const bare = await sent(
			"speech-recognition",
			TURBO,
			{ audio, task: "transcribe" },
			result({ text: "a", segments: [segment] }),
		);
		expect(bare.output).not.toHaveProperty("words");
		const textOnly = await sent(
			"speech-recognition",
			TURBO,
			{ audio, task: "transcribe" },
			result({ text: "a" }),
		);
		expect(textOnly.output).toEqual({ text: "a" });
	});

	it("is transcribed by Nova from the body, with the other inputs in the query", async () => {
		const alternatives = [
			{ transcript: "a", words: [{ ...words[0], confidence: 0.9 }] },
			{ transcript: "b" },
		];
		const reply = { results: { channels: [{ alternatives }, { alternatives: [{ transcript: "c" }] }] } };
		const input = { audio, task: "transcribe" as const, language: "de", prompt: "p q" };
		expect(await sent("speech-recognition", NOVA, input, result(reply))).toEqual({
			path: `/run/${NOVA}?language=de&keyterm=p+q`,
			file: WAV_LIST,
			type: "audio/wav",
			output: { text: "a", words: [{ word: "a", start: 0, end: 1, confidence: 0.9 }] },
		});
		const { path } = await sent("speech-recognition", NOVA, { audio, task: "transcribe" }, result(reply));
		expect(path).toBe(`/run/${NOVA}?detect_language=true`);
		for (const [contentType, type] of [
			["audio/x-own", "audio/x-own"],
			[undefined, "application/octet-stream"],
		]) {
			const file = { bytes: Uint8Array.of(1), ...(contentType && { contentType }) };
			const unknown = await sent(
				"speech-recognition",
				NOVA,
				{ audio: file, task: "transcribe" },
				result(reply),
			);
			expect(unknown.type).toBe(type);
		}
	});

	it("is spoken by Aura as a file", async () => {
		const AURA = "@cf/deepgram/aura-1";
		const reply = () => new Response(WAV, { headers: { "content-type": "audio/wav" } });
		const input = {
			text: "t",
			voice: "luna",
			encoding: "linear16",
			container: "wav",
			sample_rate: 8000,
			bit_rate: 9,
		} as const;
		expect(await sent("text-to-speech", AURA, input, reply)).toEqual({
			path: `/run/${AURA}`,
			json: {
				text: "t",
				speaker: "luna",
				encoding: "linear16",
				container: "wav",
				sample_rate: 8000,
				bit_rate: 9,
			},
			output: { bytes: WAV, contentType: "audio/wav" },
		});
	});

	it("is spoken by MeloTTS in JSON", async () => {
		const MELO = "@cf/myshell-ai/melotts";
		const input = { text: "t", voice: "luna", language: "fr", encoding: "mp3" as const };
		expect(await sent("text-to-speech", MELO, input, result({ audio: WAV_BASE64 }))).toEqual({
			path: `/run/${MELO}`,
			json: { prompt: "t", lang: "fr" },
			output: { bytes: WAV, contentType: "audio/wav" },
		});
		const unknown = await sent("text-to-speech", MELO, input, result({ audio: "AAAA" }));
		expect(unknown.output).toEqual({ bytes: new Uint8Array(3) });
		const { answer } = ask("text-to-speech", MELO, input, result({ audio: "?" }));
		expect(await failureOf(answer)).toMatchObject({
			description: "The backend 'lab' answered with something that is not sound",
		});
	});

	it("has the end of a turn", async () => {
		const TURN = "@cf/pipecat-ai/smart-turn-v2";
		const turn = { is_complete: true, probability: 1 };
		expect(await sent("turn-detection", TURN, { audio, dtype: "uint8" }, result(turn))).toEqual({
			path: `/run/${TURN}`,
			json: { audio: WAV_BASE64, dtype: "uint8" },
			output: turn,
		});
		const { answer } = ask("turn-detection", TURN, { audio }, result({ ...turn, probability: 2 }));
		expect(await failureOf(answer)).toMatchObject({ key: "executionFailed" });
	});
});

describe("Moondream's detection", () => {
	it("has boxes in pixels, each with score 1", async () => {
		const MODEL = "@cf/moondream/moondream3.1-9B-A2B";
		const objects = [{ x_min: 0, y_min: 0.5, x_max: 0.5, y_max: 1 }];
		const input = { image: { bytes: PNG }, target: "cat", max_objects: 3 };
		expect(await sent("object-detection", MODEL, input, result({ objects }))).toEqual({
			path: `/run/${MODEL}`,
			json: {
				task: "detect",
				image: `data:image/png;base64,${PNG.toBase64()}`,
				target: "cat",
				max_objects: 3,
				stream: false,
			},
			output: {
				objects: [{ label: "cat", score: 1, box: { xmin: 0, ymin: 0.5, xmax: 1, ymax: 1 } }],
				width: 2,
				height: 1,
			},
		});
		const any = await sent("object-detection", MODEL, { image: { bytes: PNG } }, result({ objects }));
		expect(any.json).toMatchObject({ target: "object" });
		const outside = result({ objects: [{ ...objects[0], x_max: 1.5 }] });
		expect(await failureOf(ask("object-detection", MODEL, input, outside).answer)).toMatchObject({
			key: "executionFailed",
		});
	});
});

describe("a binding", () => {
	const run = async (path: string, init: RequestInit) => {
		const calls: unknown[][] = [];
		const binding = {
			run: async (...call: unknown[]) => {
				calls.push(call);
				return json({});
			},
		};
		await bindingFetch(binding as never)(path, init);
		return calls;
	};

	it("gets the model, the inputs and the signal", async () => {
		const { signal } = new AbortController();
		expect(await run("/run/@cf/a%3Fb/c", { body: '{"x":1}', signal })).toEqual([
			["@cf/a?b/c", { x: 1 }, { returnRawResponse: true, signal }],
		]);
		expect(await run("/run/@cf/a", { body: "{}" })).toEqual([["@cf/a", {}, { returnRawResponse: true }]]);
	});

	it("gets a file as a stream, with the inputs of the query", async () => {
		const [[, inputs] = []] = await run("/run/@cf/a?language=de", {
			body: new Blob(["ab"], { type: "audio/wav" }),
		});
		const { audio, ...others } = inputs as { audio: { body: ReadableStream; contentType: string } };
		expect(others).toEqual({ language: "de" });
		expect(audio.contentType).toBe("audio/wav");
		expect(await new Response(audio.body).text()).toBe("ab");
	});

	it("gets a form as a stream with its boundary", async () => {
		const form = new FormData();
		form.append("a", "b");
		const [[, inputs] = []] = await run("/run/@cf/a", { body: form });
		const { multipart } = inputs as { multipart: { body: ReadableStream; contentType: string } };
		const headers = { "content-type": multipart.contentType };
		expect([...(await new Response(multipart.body, { headers }).formData())]).toEqual([["a", "b"]]);
	});
});
