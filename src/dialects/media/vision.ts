/** Image inputs: classification, object detection, description. */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { pick, present } from "../../core/present.ts";
import type { Media } from "../../media/media.ts";
import { mediaTypeOf } from "../../media/types.ts";
import { type InputShape, namesOf, type OutputShape } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { NativeWriter, Reader } from "../dialect.ts";
import { fieldsReader, modelFields, perModel } from "../fields.ts";
import { invalidInput } from "../invalid-input.ts";
import { jsonWriter } from "../output-value.ts";
import {
	ByteArray,
	decodeBase64,
	decodeBinaryString,
	decodeDataUri,
	imageOf,
	type SentBytes,
} from "./media.ts";

const imageReader = (task: "image-classification" | "object-detection"): Reader =>
	fieldsReader({ image: ByteArray }, ({ image }) => ({ task, input: { image: imageOf(image) } }), {
		field: "image",
		as: "raw",
	});

const OPTIONS = {
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
const DESCRIBE = { image: z.union([ByteArray, z.string()]), ...OPTIONS };
type Describe = z.output<z.ZodObject<typeof DESCRIBE>>;

const imageToText: Reader = {
	// Loose, because fields of other models of the family are refused, not dropped as unknown fields are.
	schema: perModel((model) => modelFields(DESCRIBE, model).loose()),
	body: { field: "image", as: "raw" },
	read(inputs: Describe, model) {
		refuseUnsupported(inputs, model);
		const { image, max_tokens } = inputs;
		if (max_tokens !== undefined && max_tokens < 1) throw invalidInput("max_tokens must be at least 1");
		return {
			task: "image-to-text",
			input: {
				image: typeof image === "string" ? imageOfText(image) : imageOf(image),
				...present(pick(inputs, ...namesOf(OPTIONS))),
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
	"image-classification": imageReader("image-classification"),
	"object-detection": imageReader("object-detection"),
	"image-to-text": imageToText,
} satisfies Partial<Record<InputShape, Reader>>;

const Detections = z.array(
	z.object({
		label: z.string(),
		score: z.number(),
		box: z.object({ xmin: z.number(), ymin: z.number(), xmax: z.number(), ymax: z.number() }),
	}),
);

export const visionWriters = {
	detections: jsonWriter("object-detection", Detections, ({ objects }) =>
		objects.map(({ label, score, box: { xmin, ymin, xmax, ymax } }) => ({
			label,
			score,
			box: { xmin, ymin, xmax, ymax },
		})),
	),
	description: jsonWriter("image-to-text", z.object({ description: z.string() }), ({ description }) => ({
		description,
	})),
} satisfies Partial<Record<OutputShape, NativeWriter>>;
