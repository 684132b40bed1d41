import { describe, expect, it } from "vitest";
import { visionReaders, visionWriters } from "../../../src/dialects/media/vision.ts";
import { productModel, read, refusal, write } from "../read-write.ts";
import { base64, binaryString, jpeg, png } from "../samples.ts";

const resnet = productModel("@cf/microsoft/resnet-50");
const detr = productModel("@cf/facebook/detr-resnet-50");
const llava = productModel("@cf/llava-hf/llava-1.5-7b-hf");
const uform = productModel("@cf/unum/uform-gen2-qwen-500m");
const image = { bytes: png(4, 2), contentType: "image/png" };

describe.each([
	["image-classification", resnet],
	["object-detection", detr],
] as const)("%s", (task, model) => {
	const reader = visionReaders[task];

	it("accepts the image as the body, or a list of bytes", () => {
		expect(reader.body).toEqual({ field: "image", as: "raw" });
		for (const sent of [png(4, 2), [...png(4, 2)]])
			expect(read(reader, model, { image: sent }).call).toEqual({ task, input: { image } });
	});

	it("refuses invalid images", () => {
		expect(refusal(reader, model, {})).toBe("Error: required properties at '/' are 'image'");
		expect(() => read(reader, model, { image: [1, 2, 3] })).toThrow(
			"3030: Invalid input image[0]: unable to decode image file",
		);
	});
});

describe("image-to-text", () => {
	const reader = visionReaders["image-to-text"];

	it("accepts bytes, a binary string, base64 and a data URI", () => {
		expect(reader.body).toEqual({ field: "image", as: "raw" });
		const bytes = png(4, 2);
		for (const sent of [
			bytes,
			[...bytes],
			binaryString(bytes),
			base64(bytes),
			`data:image/jpeg;base64,${base64(bytes)}`,
		])
			expect(read(reader, llava, { image: sent }).call).toEqual({
				task: "image-to-text",
				input: { image, raw: false, max_tokens: 512 },
			});
		expect(read(reader, llava, { image: binaryString(jpeg(2, 2)) }).call.input).toMatchObject({
			image: { contentType: "image/jpeg" },
		});
	});

	it("reads the model's parameters", () => {
		const options = {
			prompt: "What is it?",
			raw: true,
			temperature: 0.1,
			top_p: 0.9,
			top_k: 5,
			seed: 7,
			max_tokens: 9,
		};
		const penalties = { repetition_penalty: 1.1, frequency_penalty: 0.2, presence_penalty: 0.3 };
		expect(read(reader, llava, { image: png(4, 2), ...options, ...penalties, other: 1 }).call.input).toEqual({
			image,
			...options,
			...penalties,
		});
	});

	it("refuses a field of other models, and drops unknown fields", () => {
		expect(() => read(reader, uform, { image: png(4, 2), temperature: 0.5 })).toThrow(
			"3030: The model does not take 'temperature'",
		);
		expect(read(reader, uform, { image: png(4, 2), top_k: 5, colour: "red" }).call.input).toEqual({
			image,
			raw: false,
			max_tokens: 512,
			top_k: 5,
		});
	});

	it("refuses invalid images", () => {
		expect(refusal(reader, llava, { prompt: "?" })).toBe("Error: required properties at '/' are 'image'");
		expect(() => read(reader, llava, { image: "日本" })).toThrow("5004");
		expect(() => read(reader, llava, { image: "AAAA" })).toThrow("3030");
		expect(refusal(reader, llava, { image: png(4, 2), max_tokens: 1.5 })).toBe(
			"Error: Type mismatch of '/max_tokens', 'integer' not in 'number'",
		);
		expect(() => read(reader, llava, { image: png(4, 2), max_tokens: 0 })).toThrow(
			"8001: Invalid input: max_tokens must be at least 1",
		);
	});
});

describe("writers", () => {
	it("detections are a list", () => {
		const objects = [{ label: "cat", score: 0.9, box: { xmin: 1, ymin: 2, xmax: 3, ymax: 4 } }];
		const parsed = read(visionReaders["object-detection"], detr, { image: png(4, 4) });
		expect(
			write(visionWriters.detections, parsed, "object-detection", { objects, width: 4, height: 4 }),
		).toEqual({
			kind: "json",
			value: objects,
		});
	});

	it("a description is a field", () => {
		const parsed = read(visionReaders["image-to-text"], llava, { image: png(4, 4) });
		const output = {
			description: "a cat",
			usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
		};
		expect(write(visionWriters.description, parsed, "image-to-text", output)).toEqual({
			kind: "json",
			value: { description: "a cat" },
		});
	});
});
