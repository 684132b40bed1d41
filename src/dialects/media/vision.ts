/** Image inputs: classification, object detection, description. */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import type { Media } from "../../media/media.ts";
import { mediaTypeOf } from "../../media/types.ts";
import type { InputShape, OutputShape } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { Reader, Writer } from "../dialect.ts";
import { modelFields, perModel, present } from "../fields.ts";
import { invalidInput } from "../invalid-input.ts";
import { outputValue } from "../output-value.ts";
import {
	ByteArray,
	decodeBase64,
	decodeBinaryString,
	decodeDataUri,
	imageOf,
	type SentBytes,
} from "./media.ts";

const IMAGE_ONLY = { image: ByteArray };
type ImageOnly = z.output<z.ZodObject<typeof IMAGE_ONLY>>;

const imageClassification: Reader = {
	schema: perModel((model) => modelFields(IMAGE_ONLY, model)),
	body: { field: "image", as: "raw" },
	read: ({ image }: ImageOnly) => ({ task: "image-classification", input: { image: imageOf(image) } }),
};

const objectDetection: Reader = {
	schema: perModel((model) => modelFields(IMAGE_ONLY, model)),
	body: { field: "image", as: "raw" },
	read: ({ image }: ImageOnly) => ({ task: "object-detection", input: { image: imageOf(image) } }),
};

const DESCRIBE = {
	image: z.union([ByteArray, z.string()]),
	prompt: z.string().optional(),
	raw: z.boolean().optional(),
	temperature: z.number().optional(),
	top_p: z.number().optional(),
	top_k: z.number().optional(),
	seed: z.number().optional(),
	repetition_penalty: z.number().optional(),
	frequency_penalty: z.number().optional(),
	presence_penalty: z.number().optional(),
	max_tokens: z.int().optional(),
};
type Describe = z.output<z.ZodObject<typeof DESCRIBE>>;

const imageToText: Reader = {
	// Loose, because fields of other models of the family are refused, not dropped as unknown fields are.
	schema: perModel((model) => modelFields(DESCRIBE, model).loose()),
	body: { field: "image", as: "raw" },
	read(inputs: Describe, model) {
		refuseUnsupported(inputs, model);
		const { image, prompt, raw, temperature, top_p, top_k, seed, max_tokens } = inputs;
		const { repetition_penalty, frequency_penalty, presence_penalty } = inputs;
		if (max_tokens !== undefined && max_tokens < 1) throw invalidInput("max_tokens must be at least 1");
		return {
			task: "image-to-text",
			input: {
				image: typeof image === "string" ? imageOfText(image) : imageOf(image),
				...present({ prompt, raw, temperature, top_p, top_k, seed, max_tokens }),
				...present({ repetition_penalty, frequency_penalty, presence_penalty }),
			},
		};
	},
};

/** Observed: for a `temperature` uform returns the model's own error, not one of the validator. */
function refuseUnsupported(inputs: object, { inputFields }: Model): void {
	const unsupported = Object.keys(DESCRIBE).find(
		(name) => name in inputs && inputFields?.includes(name) === false,
	);
	if (unsupported) throw new AiError("refusedByModel", `The model does not take '${unsupported}'`);
}

/** The product accepts a string of bytes. Base64 and data URIs are our extensions. */
function imageOfText(text: string): Media {
	const wrapped = decodeDataUri(text);
	if (wrapped) return imageOf(wrapped);
	const binary: SentBytes | undefined = decodeBinaryString(text);
	return imageOf(binary && mediaTypeOf(binary) ? binary : decodeBase64(text));
}

export const visionReaders = {
	"image-classification": imageClassification,
	"object-detection": objectDetection,
	"image-to-text": imageToText,
} satisfies Partial<Record<InputShape, Reader>>;

const Detections = z.array(
	z.object({
		label: z.string(),
		score: z.number(),
		box: z.object({ xmin: z.number(), ymin: z.number(), xmax: z.number(), ymax: z.number() }),
	}),
);

const detections: Writer = {
	schema: Detections,
	write(answer) {
		const value: z.output<typeof Detections> = outputValue("object-detection", answer).objects.map(
			({ label, score, box: { xmin, ymin, xmax, ymax } }) => ({
				label,
				score,
				box: { xmin, ymin, xmax, ymax },
			}),
		);
		return { kind: "json", value };
	},
};

const Description = z.object({ description: z.string() });

const description: Writer = {
	schema: Description,
	write(answer) {
		const { description } = outputValue("image-to-text", answer);
		const value: z.output<typeof Description> = { description };
		return { kind: "json", value };
	},
};

export const visionWriters = { detections, description } satisfies Partial<Record<OutputShape, Writer>>;
