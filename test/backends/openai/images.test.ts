import { describe, expect, it } from "vitest";
import type { ImageInput } from "../../../src/tasks/text-to-image/index.ts";
import { outputOf } from "../ask.ts";
import { failureOf, json } from "../upstream.ts";
import { ask, OPENAI } from "./ask.ts";

const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
const JPEG = new Uint8Array([0xff, 0xd8, 0xff, 0xe0]);
const base64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes));
const picture = (bytes = PNG) => json({ created: 1, data: [{ b64_json: base64(bytes) }] });
const INPUT: ImageInput = { prompt: "a cat", width: 1024, height: 768, images: [], format: "jpeg" };

describe("an image", () => {
	it("is requested with all fields of engines", async () => {
		const asking = ask(
			"text-to-image",
			{ ...INPUT, negative_prompt: "dogs", steps: 4, guidance: 7.5, seed: 1, strength: 0.5 },
			() => picture(),
		);
		await asking.answer;
		expect(asking.call.requests[0]?.url).toBe("http://engine.test/v1/images/generations");
		expect(asking.call.requests[0]?.json).toEqual({
			model: "engine-model",
			prompt: "a cat",
			n: 1,
			size: "1024x768",
			response_format: "b64_json",
			output_format: "jpeg",
			negative_prompt: "dogs",
			num_inference_steps: 4,
			step: 4,
			steps: 4,
			guidance_scale: 7.5,
			seed: 1,
			strength: 0.5,
		});
	});

	it.each([
		["dall-e-3", { response_format: "b64_json" }],
		["gpt-image-1", { output_format: "jpeg" }],
		["chatgpt-image-latest", { output_format: "jpeg" }],
		["openai/gpt-image-1-mini", { output_format: "jpeg" }],
	])("is requested from OpenAI's %s with its own fields", async (model, format) => {
		const asking = ask("text-to-image", { ...INPUT, seed: 1 }, () => picture(), {
			target: { ...OPENAI.target, model },
		});
		await asking.answer;
		expect(asking.call.requests[0]?.json).toEqual({
			model,
			prompt: "a cat",
			n: 1,
			size: "1024x768",
			...format,
		});
	});

	it("has the upstream's bytes and their detected type", async () => {
		expect(await outputOf(ask("text-to-image", INPUT, () => picture()))).toEqual({
			bytes: PNG,
			contentType: "image/png",
		});
		expect(await outputOf(ask("text-to-image", INPUT, () => picture(JPEG)))).toEqual({
			bytes: JPEG,
			contentType: "image/jpeg",
		});
	});

	it.each([
		["an address", { data: [{ url: "https://elsewhere.test/cat.png" }] }],
		["nothing", { data: [] }],
		["no base64", { data: [{ b64_json: "???" }] }],
		["base64 that breaks off", { data: [{ b64_json: `${base64(PNG)}*AAAA` }] }],
		["a sound", { data: [{ b64_json: base64(new TextEncoder().encode("fLaC")) }] }],
	])("rejects %s", async (_, reply) => {
		expect(await failureOf(ask("text-to-image", INPUT, () => json(reply)).answer)).toMatchObject({
			key: "executionFailed",
		});
	});
});

describe("an image with input images", () => {
	it("is an edit with files and mask in a form", async () => {
		const asking = ask(
			"text-to-image",
			{ ...INPUT, steps: 4, images: [{ bytes: JPEG }], mask: { bytes: PNG, contentType: "image/jpeg" } },
			() => picture(),
		);
		await asking.answer;
		const [request] = asking.call.requests;
		expect(request?.url).toBe("http://engine.test/v1/images/edits");
		const fields = [...(request?.form ?? [])].map(([name, value]) =>
			typeof value === "string" ? [name, value] : [name, value.name, value.type],
		);
		expect(fields).toEqual([
			["model", "engine-model"],
			["prompt", "a cat"],
			["n", "1"],
			["size", "1024x768"],
			["response_format", "b64_json"],
			["output_format", "jpeg"],
			["num_inference_steps", "4"],
			["step", "4"],
			["steps", "4"],
			["image", "image-0.jpg", "image/jpeg"],
			["mask", "mask.png", "image/png"],
		]);
	});

	it("sends several images as a list", async () => {
		const asking = ask("text-to-image", { ...INPUT, images: [{ bytes: JPEG }, { bytes: PNG }] }, () =>
			picture(),
		);
		await asking.answer;
		const files = asking.call.requests[0]?.form.getAll("image[]") ?? [];
		expect(files.map((file) => (file instanceof File ? file.name : file))).toEqual([
			"image-0.jpg",
			"image-1.png",
		]);
	});
});
