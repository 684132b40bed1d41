/** Images in: classification, object detection, description. */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import type { Media } from "../../media/media.ts";
import { mediaTypeOf } from "../../media/types.ts";
import type { InputShape, OutputShape } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { Reader, Writer } from "../dialect.ts";
import { modelFields, perModel, present } from "../fields.ts";
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
	// Loose, to see the fields that this model lacks: they are not dropped as strangers are, they are refused.
	schema: perModel((model) => modelFields(DESCRIBE, model).loose()),
	body: { field: "image", as: "raw" },
	read(inputs: Describe, model) {
		refuseLacking(inputs, model);
		const { image, prompt, raw, temperature, top_p, top_k, seed, max_tokens } = inputs;
		const { repetition_penalty, frequency_penalty, presence_penalty } = inputs;
		if (max_tokens !== undefined && max_tokens < 1)
			throw new AiError("invalidInput", "Invalid input: max_tokens must be at least 1");
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

/** Observed: uform answers a `temperature` with a refusal of the model's own, not of the validator. */
function refuseLacking(inputs: object, { inputFields }: Model): void {
	const lacking = Object.keys(DESCRIBE).find(
		(name) => name in inputs && inputFields?.includes(name) === false,
	);
	if (lacking) throw new AiError("refusedByModel", `The model does not take '${lacking}'`);
}

/** The product takes a string of bytes; base64 and data URIs, which callers expect of a string, are ours. */
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
