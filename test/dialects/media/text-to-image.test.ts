import { describe, expect, it } from "vitest";
import { type FormPart, MultipartForm } from "../../../src/dialects/media/multipart.ts";
import { textToImageReaders, textToImageWriters } from "../../../src/dialects/media/text-to-image.ts";
import type { Model } from "../../../src/models/model.ts";
import { productModel, read, refusal, write } from "../read-write.ts";
import { base64, jpeg, png } from "../samples.ts";

const sdxl = productModel("@cf/stabilityai/stable-diffusion-xl-base-1.0");
const schnell = productModel("@cf/black-forest-labs/flux-1-schnell");
const lucid = productModel("@cf/leonardo/lucid-origin");
const phoenix = productModel("@cf/leonardo/phoenix-1.0");
const flux2 = productModel("@cf/black-forest-labs/flux-2-dev");
const klein = productModel("@cf/black-forest-labs/flux-2-klein-4b");
const readers = textToImageReaders;

describe("tti-sd", () => {
	const reader = readers["tti-sd"];

	it("has the catalogue's defaults", () => {
		expect(read(reader, sdxl, { prompt: "a fox" }).call).toEqual({
			task: "text-to-image",
			input: {
				prompt: "a fox",
				width: 1024,
				height: 1024,
				images: [],
				steps: 20,
				guidance: 7.5,
				format: "png",
			},
		});
		const small = { ...sdxl, defaults: { ...sdxl.defaults, width: 512, height: 768 } };
		expect(read(reader, small, { prompt: "a fox" }).call.input).toMatchObject({ width: 512, height: 768 });
	});

	it("reads the model's parameters", () => {
		const request = {
			prompt: "a fox",
			negative_prompt: "blurry",
			width: 256,
			height: 2048,
			guidance: 3,
			seed: 7,
		};
		expect(read(reader, sdxl, { ...request, num_steps: 4 }).call.input).toEqual({
			...request,
			images: [],
			steps: 4,
			format: "png",
		});
	});

	it("reads a start image and its size, as bytes or base64", () => {
		const image = { bytes: jpeg(602, 400), contentType: "image/jpeg" };
		for (const sent of [{ image: [...image.bytes] }, { image_b64: base64(image.bytes) }])
			expect(read(reader, sdxl, { prompt: "a fox", strength: 0.4, ...sent }).call.input).toMatchObject({
				images: [image],
				width: 600,
				height: 400,
				strength: 0.4,
			});
		expect(read(reader, sdxl, { prompt: "a fox", image: [...png(4, 4000)] }).call.input).toMatchObject({
			width: 256,
			height: 2048,
			strength: 1,
		});
		expect(
			read(reader, sdxl, { prompt: "a fox", image: [...image.bytes], width: 512, mask: [...png(9, 9)] }).call
				.input,
		).toMatchObject({ width: 512, height: 400, mask: { bytes: png(9, 9), contentType: "image/png" } });
	});

	it("refuses invalid inputs", () => {
		expect(refusal(reader, sdxl, { prompt: "" })).toBe("Error: Length of '/prompt' must be >= 1 not met");
		expect(refusal(reader, sdxl, { prompt: "a", width: 2049, num_steps: 21 })).toBe(
			"Error: '/width' must be <= 2048, '/num_steps' must be <= 20",
		);
		expect(refusal(reader, sdxl, { prompt: "a", strength: 1.1 })).toBe("Error: '/strength' must be <= 1");
		expect(() => read(reader, sdxl, { prompt: "a", image_b64: "@" })).toThrow(
			"5004: Invalid data type for base64 input: string",
		);
		expect(() => read(reader, sdxl, { prompt: "a", image: [1] })).toThrow(
			"3030: Invalid input image[0]: unable",
		);
		expect(() => read(reader, sdxl, { prompt: "a", image: [...png(1, 1)], mask: [1] })).toThrow(
			"3030: Invalid input mask: unable",
		);
	});
});

describe("tti-flux1", () => {
	const reader = readers["tti-flux1"];

	it("reads a prompt, steps and a seed, with the format JPEG", () => {
		expect(read(reader, schnell, { prompt: "a fox", seed: 3 }).call.input).toEqual({
			prompt: "a fox",
			width: 1024,
			height: 1024,
			images: [],
			steps: 4,
			seed: 3,
			format: "jpeg",
		});
	});

	it("refuses other fields", () => {
		expect(refusal(reader, schnell, { prompt: "a fox", width: 512 })).toBe(
			"Error: Additional or unevaluated properties '/width' at '/' not allowed",
		);
		expect(refusal(reader, schnell, { prompt: "a".repeat(2049) })).toBe(
			"Error: Length of '/prompt' must be <= 2048",
		);
		expect(refusal(reader, schnell, { prompt: "a fox", steps: 9 })).toBe("Error: '/steps' must be <= 8");
	});
});

describe("tti-lucid and tti-phoenix", () => {
	it("have their own sizes and defaults", () => {
		expect(read(readers["tti-lucid"], lucid, { prompt: "a fox", steps: 12 }).call.input).toEqual({
			prompt: "a fox",
			width: 1120,
			height: 1120,
			images: [],
			steps: 12,
			guidance: 4.5,
			format: "jpeg",
		});
		expect(
			read(readers["tti-phoenix"], phoenix, { prompt: "a fox", negative_prompt: "dogs" }).call.input,
		).toEqual({
			prompt: "a fox",
			negative_prompt: "dogs",
			width: 1024,
			height: 1024,
			images: [],
			steps: 25,
			guidance: 2,
			format: "jpeg",
		});
	});

	it("read a size of zero as absent", () => {
		expect(read(readers["tti-lucid"], lucid, { prompt: "a", width: 0, height: 64 }).call.input).toMatchObject(
			{
				width: 1120,
				height: 64,
			},
		);
	});

	it("prefer num_steps to steps, and refuse values out of range", () => {
		expect(
			read(readers["tti-lucid"], lucid, { prompt: "a", num_steps: 3, steps: 9 }).call.input,
		).toMatchObject({
			steps: 3,
		});
		expect(refusal(readers["tti-lucid"], lucid, { prompt: "a", width: 2501 })).toBe(
			"Error: '/width' must be <= 2500",
		);
		expect(refusal(readers["tti-phoenix"], phoenix, { prompt: "a", guidance: 1 })).toBe(
			"Error: '/guidance' must be >= 2",
		);
	});
});

describe("tti-multipart", () => {
	const reader = readers["tti-multipart"];
	const form = (fields: Record<string, string | Uint8Array<ArrayBuffer>>) => {
		const parts = Object.entries(fields).map(
			([name, value]): FormPart =>
				typeof value === "string"
					? { name, value }
					: { name, bytes: value, contentType: "image/png", filename: `${name}.png` },
		);
		return { multipart: { body: new MultipartForm(parts), contentType: "multipart/form-data" } };
	};

	it("reads numbers from text", () => {
		expect(reader.body).toEqual({ field: "multipart", as: "wrapped" });
		const fields = { prompt: "42", steps: "12", guidance: "3.5", width: "512", height: "1920", seed: "7" };
		expect(read(reader, flux2, form(fields)).call).toEqual({
			task: "text-to-image",
			input: {
				prompt: "42",
				steps: 12,
				guidance: 3.5,
				width: 512,
				height: 1920,
				seed: 7,
				images: [],
				format: "jpeg",
			},
		});
	});

	it("has its own sizes, and no steps for klein", () => {
		expect(read(reader, flux2, form({ prompt: "a fox", steps: "" })).call.input).toMatchObject({
			width: 1024,
			height: 768,
			steps: 25,
		});
		expect(read(reader, klein, form({ prompt: "a fox", steps: "30" })).call.input).toMatchObject({
			steps: 4,
		});
	});

	it("has the default steps of an operator's model", () => {
		const stepsOf = (model: Model) => {
			const { call } = read(reader, model, form({ prompt: "a fox" }));
			return call.task === "text-to-image" && call.input.steps;
		};
		expect(stepsOf({ ...flux2, defaults: { steps: 8 } })).toBe(8);
		expect(stepsOf({ ...flux2, defaults: {} })).toBeUndefined();
	});

	it("reads up to four images, in order", () => {
		const sent = {
			prompt: "a fox",
			input_image_3: png(3, 3),
			input_image_0: png(512, 512),
			input_image_4: png(9, 9),
		};
		expect(read(reader, flux2, form(sent)).call.input).toMatchObject({
			width: 1024,
			height: 768,
			images: [
				{ bytes: png(512, 512), contentType: "image/png" },
				{ bytes: png(3, 3), contentType: "image/png" },
			],
		});
	});

	it("refuses invalid and too large images", () => {
		const refused = (image: string | Uint8Array<ArrayBuffer>) => () =>
			read(reader, flux2, form({ prompt: "a fox", input_image_1: image }));
		expect(refused(png(513, 10))).toThrow("3030: Invalid input image[0]: 513x10 is larger than 512x512");
		const undecodable = "3030: Invalid input image[0]: unable to decode image file";
		expect(refused(new Uint8Array([1, 2, 3]))).toThrow(undecodable);
		expect(refused("a text")).toThrow(undecodable);
		// Only a signature.
		expect(refused(png(8, 8).slice(0, 10))).toThrow(undecodable);
	});

	it("refuses fields with the wording for JSON", () => {
		expect(refusal(reader, flux2, { prompt: "a fox" })).toBe(
			"Error: required properties at '/' are 'multipart': send the fields as a form (multipart/form-data), by the binding as { multipart: { body, contentType } }",
		);
		expect(refusal(reader, flux2, form({}))).toBe("Error: required properties at '/' are 'prompt'");
		expect(refusal(reader, flux2, form({ prompt: "a", width: "wide", height: "255" }))).toBe(
			"Error: Type mismatch of '/width', 'integer' not in 'string', '/height' must be >= 256",
		);
	});
});

describe("writers", () => {
	const parsed = read(readers["tti-sd"], sdxl, { prompt: "a fox" });

	it("raw images have their content type", () => {
		const media = { bytes: png(2, 2), contentType: "image/png" };
		expect(write(textToImageWriters["image-png"], parsed, "text-to-image", media)).toEqual({
			kind: "bytes",
			media,
		});
		const untold = { bytes: jpeg(2, 2) };
		expect(write(textToImageWriters["image-png"], parsed, "text-to-image", untold)).toEqual({
			kind: "bytes",
			media: { ...untold, contentType: "image/jpeg" },
		});
		const unknown = { bytes: new Uint8Array([1]) };
		expect(write(textToImageWriters["image-jpeg"], parsed, "text-to-image", unknown)).toEqual({
			kind: "bytes",
			media: { ...unknown, contentType: "image/jpeg" },
		});
	});

	it("image-b64 is JSON with the file", () => {
		const media = { bytes: jpeg(2, 2), contentType: "image/jpeg" };
		expect(write(textToImageWriters["image-b64"], parsed, "text-to-image", media)).toEqual({
			kind: "json",
			value: { image: base64(media.bytes) },
		});
	});
});
