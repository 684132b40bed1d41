import { describe, expect, it } from "vitest";
import { modelSchema } from "../../src/dialects/schema.ts";
import { productModel } from "./read-write.ts";

const DRAFT = "https://json-schema.org/draft/2020-12/schema";
const inputOf = (id: string) => modelSchema(productModel(id)).input;

describe("modelSchema", () => {
	it.each([
		["@cf/openai/whisper", "audio"],
		["@cf/microsoft/resnet-50", "image"],
		["@cf/facebook/detr-resnet-50", "image"],
		["@cf/llava-hf/llava-1.5-7b-hf", "image"],
	])("accepts a file in place of the fields of %s", (id, field) => {
		expect(inputOf(id)).toMatchObject({
			$schema: DRAFT,
			oneOf: [
				{ type: "string", format: "binary", description: `The bytes of '${field}', as the body` },
				{ type: "object", properties: { [field]: expect.anything() }, required: [field] },
			],
		});
		expect(JSON.stringify(inputOf(id)).match(/\$schema/g)).toHaveLength(1);
	});

	it.each(["@cf/deepgram/nova-3", "@cf/openai/whisper-large-v3-turbo", "@cf/baai/bge-m3"])(
		"accepts only fields for %s",
		(id) => {
			expect(JSON.stringify(inputOf(id))).not.toContain('"binary"');
		},
	);

	it("has the ranges and the defaults of the reader", () => {
		expect(inputOf("@cf/black-forest-labs/flux-1-schnell")).toMatchObject({
			type: "object",
			required: ["prompt"],
			additionalProperties: false,
			properties: {
				prompt: { type: "string", minLength: 1, maxLength: 2048 },
				steps: { type: "integer", maximum: 8, default: 4 },
			},
		});
	});

	it("has the media type of the output", () => {
		expect(modelSchema(productModel("@cf/deepgram/aura-1")).output).toEqual({
			type: "string",
			contentType: "audio/mpeg",
			format: "binary",
		});
	});
});
