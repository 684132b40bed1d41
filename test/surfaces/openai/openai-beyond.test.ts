/** Routes of OpenAI's API that the product does not have, called with OpenAI's client. */
import OpenAI, { toFile } from "openai";
import { describe, expect, it } from "vitest";
import { base64, png } from "../../dialects/samples.ts";
import { BASE, ENGINE_VARS, testGateway, upstream } from "../../gateway.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const WHISPER = "@cf/openai/whisper-large-v3-turbo";
const RERANKER = "@cf/baai/bge-reranker-base";
const IMG2IMG = "@cf/runwayml/stable-diffusion-v1-5-img2img";
const WAV = Uint8Array.from(
	atob("UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQgAAAAAAAAAAAAAAA=="),
	(character) => character.charCodeAt(0),
);

function client(reply?: (request: Request) => Response | Promise<Response>, models: string[] = []) {
	const { fetch, requests } = upstream(reply ?? (() => new Response(null, { status: 500 })));
	const ROUTES = Object.fromEntries(models.map((model) => [model, [{ backend: "engine", model: "m" }]]));
	const gateway = reply ? testGateway({ vars: { ...ENGINE_VARS, ROUTES }, fetch }) : testGateway();
	const openai = new OpenAI({
		apiKey: "none",
		baseURL: `${BASE}/v1`,
		maxRetries: 0,
		dangerouslyAllowBrowser: true,
		fetch: async (url, init) => gateway.app.request(String(url), init),
	});
	return { openai, requests, ...gateway };
}

describe("responses.inputTokens.count", () => {
	it("counts a request without a call of an engine", async () => {
		const { openai, requests } = client(() => new Response(null, { status: 500 }), [LLAMA]);
		const short = await openai.responses.inputTokens.count({ model: LLAMA, input: "Hi" });
		expect(short).toEqual({ object: "response.input_tokens", input_tokens: expect.any(Number) });
		const long = await openai.responses.inputTokens.count({
			model: LLAMA,
			input: "Hi",
			instructions: "Answer in one word. ".repeat(50),
		});
		expect(long.input_tokens - short.input_tokens).toBeGreaterThan(200);
		expect(requests).toEqual([]);
	});
});

describe("rerank", () => {
	const documents = ["a fox", { text: "a whale" }, "a bee"];
	const engine = () =>
		Response.json({
			results: [
				{ index: 0, relevance_score: 0.1 },
				{ index: 1, relevance_score: 0.9 },
				{ index: 2, relevance_score: 0.4 },
			],
		});

	it("returns the best first, with the documents if requested", async () => {
		const { post, requests } = client(engine, [RERANKER]);
		const body = { model: RERANKER, query: "What swims?", documents, top_n: 2, return_documents: true };
		const response = await post("/v1/rerank", body);
		expect(await response.json()).toEqual({
			id: response.headers.get("cf-ai-req-id"),
			model: RERANKER,
			results: [
				{ index: 1, relevance_score: 0.9, document: { text: "a whale" } },
				{ index: 2, relevance_score: 0.4, document: { text: "a bee" } },
			],
			meta: { api_version: { version: "1" } },
		});
		expect(await requests[0]?.json()).toMatchObject({
			query: "What swims?",
			documents: ["a fox", "a whale", "a bee"],
		});
		const plain = await post("/v1/rerank", { model: RERANKER, query: "What swims?", documents });
		expect((await plain.json<{ results: object[] }>()).results[0]).toEqual({
			index: 1,
			relevance_score: 0.9,
		});
	});

	it("refuses other models of the catalogue's task", async () => {
		const { post } = client();
		const model = "@cf/huggingface/distilbert-sst-2-int8";
		const response = await post("/v1/rerank", { model, query: "a", documents });
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({ error: { code: "model_not_found" } });
	});
});

describe("audio.translations", () => {
	it("requests a translation and reports it", async () => {
		const { openai, requests } = client(() => Response.json({ text: "Good morning." }), [WHISPER]);
		const file = await toFile(WAV, "a.wav", { type: "audio/wav" });
		const plain = await openai.audio.translations.create({ model: WHISPER, file });
		expect(plain.text).toBe("Good morning.");
		expect(requests[0]?.url).toMatch(/\/audio\/translations$/);
		const verbose = await openai.audio.translations.create({
			model: WHISPER,
			file,
			response_format: "verbose_json",
		});
		expect(verbose).toMatchObject({ task: "translate", text: "Good morning." });
	});

	it("is refused for a model that cannot translate", async () => {
		const { openai } = client();
		const file = await toFile(WAV, "a.wav", { type: "audio/wav" });
		await expect(
			openai.audio.translations.create({ model: "@cf/deepgram/nova-3", file }),
		).rejects.toMatchObject({ status: 400, message: expect.stringContaining("does not translate") });
	});
});

describe("audio.speech", () => {
	const AURA = "@cf/deepgram/aura-2-en";

	it("accepts only the model's speakers on a strict route, and any voice on others", async () => {
		const refused = await client().post("/v1/audio/speech", { model: AURA, input: "Hi", voice: "zzz" });
		expect(refused.status).toBe(400);
		expect(await refused.json()).toMatchObject({
			errors: [{ code: 5006, message: expect.stringContaining("at '/voice'") }],
			error: { param: "voice" },
		});
		const { post, requests } = client(
			() =>
				new Response(new Uint8Array([0xff, 0xfb, 0x90, 0]), { headers: { "content-type": "audio/mpeg" } }),
			[AURA],
		);
		await post("/v1/audio/speech", { model: AURA, input: "Hi", voice: "zzz" });
		expect(await requests[0]?.json()).toMatchObject({ voice: "zzz" });
	});
});

describe("images.edit", () => {
	const file = () => toFile(png(64, 64), "a.png", { type: "image/png" });

	it("sends the image to the engine, and returns the engine's image", async () => {
		let form: FormData | undefined;
		const { openai } = client(
			async (request) => {
				form = await request.formData();
				return Response.json({ data: [{ b64_json: base64(png(8, 8)) }] });
			},
			[IMG2IMG],
		);
		const edited = await openai.images.edit({
			model: IMG2IMG,
			prompt: "a fox",
			image: await file(),
			size: "512x512",
		});
		expect(edited.data).toEqual([{ b64_json: base64(png(8, 8)) }]);
		expect(form?.get("prompt")).toBe("a fox");
		expect(form?.get("size")).toBe("512x512");
		const image = form?.get("image");
		expect(image instanceof File && new Uint8Array(await image.arrayBuffer())).toEqual(png(64, 64));
	});

	it.each([
		[
			"a model that takes no image",
			{ model: "@cf/black-forest-labs/flux-1-schnell" },
			"must be one that takes images",
		],
		["a mask", { mask: true }, "'/mask' must be absent"],
		["two images", { images: 2 }, "must have at most 1 images"],
		["several answers", { n: 2 }, "'/n' must be 1"],
		["no image", { images: 0 }, "required properties at '/' are 'image'"],
	])(
		"refuses %s",
		async (_, {
			model = IMG2IMG,
			mask = false,
			images = 1,
			n = 1,
		}: { model?: string; mask?: boolean; images?: number; n?: number }, sentence) => {
			const { app } = client();
			const form = new FormData();
			form.set("model", model);
			form.set("prompt", "a fox");
			form.set("n", String(n));
			for (let at = 0; at < images; at++) form.append("image[]", await file());
			if (mask) form.set("mask", await file());
			const response = await app.request(`${BASE}/v1/images/edits`, { method: "POST", body: form });
			expect(response.status).toBe(400);
			expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining(sentence) } });
		},
	);
});

describe("a route of OpenAI that is not available", () => {
	it.each<[string, (openai: OpenAI) => Promise<unknown>, string]>([
		["a response", (openai) => openai.responses.retrieve("chatcmpl-1"), "ids of responses begin with resp_"],
		["vector stores", async (openai) => openai.vectorStores.list(), "files are stored at /files"],
		["a batch", async (openai) => openai.batches.retrieve("1"), "ids of batches begin with batch_"],
		["videos", async (openai) => openai.videos.list(), "no model makes videos"],
		[
			"a stored prompt",
			(openai) => openai.responses.create({ model: LLAMA, input: "a", prompt: { id: "pmpt_1" } }),
			"prompt: not supported",
		],
	])("is refused with its reason: %s", async (_, call, sentence) => {
		await expect(call(client().openai)).rejects.toMatchObject({
			status: 400,
			type: "invalid_request_error",
			message: expect.stringContaining(sentence),
		});
	});

	it("is also refused below /v1; a path that OpenAI does not have gets the product's message", async () => {
		const { app } = client();
		const uploads = await app.request("http://gateway/v1/uploads");
		expect(await uploads.json()).toMatchObject({
			errors: [{ code: 7000, message: expect.stringContaining("files are stored at /files") }],
			error: { message: expect.stringContaining("files are stored at /files") },
		});
		for (const base of [`${BASE}/v1`, "http://gateway/v1"]) {
			const model = await app.request(`${base}/language-model`, { method: "POST", body: "{}" });
			expect(model.status).toBe(400);
			expect(await model.json()).toMatchObject({
				error: { message: expect.stringContaining("createOpenAICompatible of @ai-sdk/openai-compatible") },
			});
		}
		const unknown = await app.request("http://gateway/v1/nothing");
		expect(await unknown.json()).toMatchObject({
			errors: [{ code: 7000, message: "No route for that URI" }],
		});
	});
});
