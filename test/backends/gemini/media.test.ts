import { describe, expect, it } from "vitest";
import blocked from "../../fixtures/gemini/blocked.json?raw";
import embeddings from "../../fixtures/gemini/embeddings.json?raw";
import image from "../../fixtures/gemini/image.json?raw";
import imagen from "../../fixtures/gemini/imagen.json?raw";
import safety from "../../fixtures/gemini/safety.json?raw";
import { type AskOptions, outputOf } from "../ask.ts";
import { failureOf, json } from "../upstream.ts";
import { ask, GOOGLE } from "./ask.ts";

describe("embeddings", () => {
	it("are requested in one batch", async () => {
		const asking = ask(
			"text-embeddings",
			{ texts: ["a", "b"], dimensions: 3, truncate: true },
			() => json(embeddings),
			{ target: { model: "gemini-embedding-001" } },
		);
		const { vectors } = await outputOf(asking);
		// Google gives fewer dimensions as they are cut: of the length 1 they are made here.
		const [first = [], second = []] = vectors;
		for (const [at, value] of [0.266702, -0.176443, -0.94749].entries())
			expect(first[at]).toBeCloseTo(value, 4);
		for (const [at, value] of [0.380052, 0.065784, -0.922623].entries())
			expect(second[at]).toBeCloseTo(value, 4);
		const [request] = asking.call.requests;
		expect(request?.url).toBe(`${GOOGLE}/v1beta/models/gemini-embedding-001:batchEmbedContents`);
		expect(request?.json).toEqual({
			requests: ["a", "b"].map((text) => ({
				model: "models/gemini-embedding-001",
				content: { parts: [{ text }] },
				outputDimensionality: 3,
			})),
		});
	});

	it("are requested in several batches above 100 texts, in order", async () => {
		const texts = Array.from({ length: 201 }, (_, place) => String(place));
		const asking = ask("text-embeddings", { texts }, ({ json: body }) =>
			json({
				embeddings: (body.requests as { content: { parts: { text: string }[] } }[]).map((request) => ({
					values: [Number(request.content.parts[0]?.text)],
				})),
			}),
		);
		expect(await outputOf(asking)).toEqual({ vectors: texts.map((text) => [Number(text)]) });
		expect(asking.call.requests).toHaveLength(3);
	});

	it("are one request for 100 texts", async () => {
		const texts = Array.from({ length: 100 }, () => "a");
		const asking = ask("text-embeddings", { texts }, () =>
			json({ embeddings: texts.map(() => ({ values: [1] })) }),
		);
		expect((await outputOf(asking)).vectors).toHaveLength(100);
		expect(asking.call.requests).toHaveLength(1);
	});

	it("keep a vector of zeros, and refuse an empty one", async () => {
		const answering = (values: number[]) =>
			ask("text-embeddings", { texts: ["a"], dimensions: 2 }, () => json({ embeddings: [{ values }] }));
		expect(await outputOf(answering([0, 0]))).toEqual({ vectors: [[0, 0]] });
		expect(await failureOf(answering([]).answer)).toMatchObject({ key: "executionFailed" });
	});

	it("rejects a reply with too few vectors", async () => {
		const { answer } = ask("text-embeddings", { texts: ["a", "b", "c"] }, () => json(embeddings));
		expect(await failureOf(answer)).toMatchObject({ key: "executionFailed" });
	});
});

describe("an image", () => {
	const INPUT = { prompt: "a cat", width: 1024, height: 768, images: [], format: "png" as const };
	const PNG = Uint8Array.of(137, 80, 78, 71, 13, 10, 26, 10);

	it("is requested with the nearest aspect ratio and the input images", async () => {
		const input = { ...INPUT, seed: 4_294_967_296 + 7, images: [{ bytes: PNG }] };
		const asking = ask("text-to-image", input, () => json(image), {
			target: { model: "gemini-2.5-flash-image" },
		});
		const { bytes, contentType } = await outputOf(asking);
		expect(contentType).toBe("image/png");
		expect([...bytes.subarray(0, 8)]).toEqual([...PNG]);
		const [request] = asking.call.requests;
		expect(request?.url).toBe(`${GOOGLE}/v1beta/models/gemini-2.5-flash-image:generateContent`);
		expect(request?.json).toEqual({
			contents: [
				{
					role: "user",
					parts: [{ text: "a cat" }, { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }],
				},
			],
			generationConfig: {
				responseModalities: ["TEXT", "IMAGE"],
				seed: 7,
				imageConfig: { aspectRatio: "4:3" },
			},
		});
	});

	it.each([
		[1, 1, "1:1"],
		[700, 1024, "2:3"],
		[1024, 683, "3:2"],
		[768, 1024, "3:4"],
		[800, 1000, "4:5"],
		[1000, 800, "5:4"],
		[1080, 1920, "9:16"],
		[1920, 1080, "16:9"],
		[3000, 1000, "21:9"],
		[100, 3000, "9:16"],
	])("of %i by %i pixels has the ratio %s", async (width, height, aspectRatio) => {
		const asking = ask("text-to-image", { ...INPUT, width, height }, () => json(image));
		await asking.answer;
		expect(asking.call.requests[0]?.json.generationConfig).toMatchObject({ imageConfig: { aspectRatio } });
	});

	it("is the last one outside the reasoning", async () => {
		const inline = (last: number, fields = {}) => ({
			inlineData: { mimeType: "image/png", data: Uint8Array.of(...PNG, last).toBase64() },
			...fields,
		});
		const parts = [inline(1), inline(2), { text: "done" }, inline(3, { thought: true })];
		const { bytes } = await outputOf(
			ask("text-to-image", INPUT, () => json({ candidates: [{ content: { parts } }] })),
		);
		expect(bytes.at(-1)).toBe(2);
	});

	const onImagen = { target: { model: "imagen-4.0-generate-001" } };

	it("is requested by `predict` from Imagen", async () => {
		const asking = ask("text-to-image", { ...INPUT, width: 700, height: 1024 }, () => json(imagen), onImagen);
		expect((await outputOf(asking)).contentType).toBe("image/png");
		const [request] = asking.call.requests;
		expect(request?.url).toBe(`${GOOGLE}/v1beta/models/imagen-4.0-generate-001:predict`);
		expect(request?.json).toEqual({
			instances: [{ prompt: "a cat" }],
			parameters: { sampleCount: 1, aspectRatio: "3:4" },
		});
	});

	it("rejects input images for Imagen, and masks for all models", async () => {
		const started = { ...INPUT, images: [{ bytes: PNG }] };
		const { answer } = ask("text-to-image", started, () => json(imagen), onImagen);
		expect(await failureOf(answer)).toMatchObject({ key: "engineRefused", retryable: true });
		const masked = ask("text-to-image", { ...started, mask: { bytes: PNG } }, () => json(image));
		expect(await failureOf(masked.answer)).toMatchObject({ key: "engineRefused", retryable: true });
	});

	it.each([
		["the prompt", blocked, {}],
		["the image", safety, {}],
		["Imagen's image", {}, onImagen],
	])("is not retryable if %s is refused", async (_, body, options) => {
		const { answer } = ask("text-to-image", INPUT, () => json(body), options);
		expect(await failureOf(answer)).toMatchObject({
			key: "refusedByModel",
			retryable: false,
			upstream: { backend: "lab", status: 200 },
		});
	});

	it.each([
		["a text alone", { candidates: [{ content: { parts: [{ text: "no" }] }, finishReason: "STOP" }] }],
		["what is no image", { candidates: [{ content: { parts: [{ inlineData: { data: "AAAA" } }] } }] }],
		["a prediction without a file", { predictions: [{}] }, onImagen],
		["a prediction with an empty file", { predictions: [{ bytesBase64Encoded: null }] }, onImagen],
	])("rejects %s", async (_, body, options: AskOptions = {}) => {
		const { answer } = ask("text-to-image", INPUT, () => json(body), options);
		expect(await failureOf(answer)).toMatchObject({
			key: "executionFailed",
			description: "The backend 'lab' answered with something that is not an image",
			retryable: true,
		});
	});
});
