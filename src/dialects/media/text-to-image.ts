/**
 * Text to image: the JSON input shapes (`flux2-form.ts` has the form of FLUX.2), and three output shapes.
 *
 * Difference from the product: if an engine answers in another format than the model's own, the image is not converted; the
 * content type is that of the image.
 */
import * as z from "zod";
import { present } from "../../core/present.ts";
import { encodeBase64 } from "../../media/base64.ts";
import { mediaTypeOf } from "../../media/types.ts";
import type { InputShape, OutputShape } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { NativeWriter, Reader } from "../dialect.ts";
import { fieldsReader, modelFields, perModel } from "../fields.ts";
import { jsonWriter, outputValue } from "../output-value.ts";
import { flux2Form } from "./flux2-form.ts";
import { imageCall } from "./image-input.ts";
import { ByteArray, decodeBase64, imageOf } from "./media.ts";

const prompt = z.string().min(1);

const stableDiffusion = fieldsReader(
	{
		prompt,
		negative_prompt: z.string().optional(),
		height: z.int().min(256).max(2048).optional(),
		width: z.int().min(256).max(2048).optional(),
		image: ByteArray.optional(),
		image_b64: z.string().optional(),
		mask: ByteArray.optional(),
		num_steps: z.int().min(1).max(20).optional(),
		strength: z.number().min(0).max(1).optional(),
		guidance: z.number().optional(),
		seed: z.int().optional(),
	},
	({ prompt, negative_prompt, height, width, guidance, seed, ...inputs }, model) => {
		const { image, image_b64, mask, num_steps, strength } = inputs;
		const start = image ?? (image_b64 === undefined ? undefined : decodeBase64(image_b64));
		return imageCall(
			{
				prompt,
				images: start ? [imageOf(start)] : [],
				...present({ negative_prompt, height, width, guidance, seed, steps: num_steps }),
				// `strength` and `mask` have no effect without an image.
				...(start && present({ strength, mask: mask && imageOf(mask, "mask") })),
			},
			model,
		);
	},
);

const FLUX1 = {
	prompt: prompt.max(2048),
	steps: z.int().min(1).max(8).optional(),
	// Not in the product's schema, but reported to work.
	seed: z.int().optional(),
};
type Flux1 = z.output<z.ZodObject<typeof FLUX1>>;

const flux1: Reader = {
	schema: perModel((model) => modelFields(FLUX1, model).strict()),
	read: ({ prompt, steps, seed }: Flux1, model) => imageCall({ prompt, ...present({ steps, seed }) }, model),
};

const leonardoFields = (limits: { minGuidance: number; maxSide: number; maxSteps: number }) => ({
	prompt,
	guidance: z.number().min(limits.minGuidance).max(10).optional(),
	seed: z.int().min(0).optional(),
	height: z.int().min(0).max(limits.maxSide).optional(),
	width: z.int().min(0).max(limits.maxSide).optional(),
	num_steps: z.int().min(1).max(limits.maxSteps).optional(),
});
type Leonardo = z.output<z.ZodObject<ReturnType<typeof leonardoFields>>> & { steps?: number | undefined };

const readLeonardo = ({ prompt, steps, num_steps = steps, ...fields }: Leonardo, model: Model) =>
	imageCall({ prompt, ...present({ ...fields, steps: num_steps }) }, model);

const lucid = fieldsReader(
	{
		...leonardoFields({ minGuidance: 0, maxSide: 2500, maxSteps: 40 }),
		steps: z.int().min(1).max(40).optional(),
	},
	readLeonardo,
);
const phoenix = fieldsReader(
	{
		...leonardoFields({ minGuidance: 2, maxSide: 2048, maxSteps: 50 }),
		negative_prompt: z.string().min(1).optional(),
	},
	readLeonardo,
);

export const textToImageReaders = {
	"tti-sd": stableDiffusion,
	"tti-flux1": flux1,
	"tti-lucid": lucid,
	"tti-phoenix": phoenix,
	"tti-multipart": flux2Form,
} satisfies Partial<Record<InputShape, Reader>>;

const rawImage = (defaultType: string): NativeWriter => ({
	schema: defaultType,
	write(answer) {
		const { bytes, contentType } = outputValue("text-to-image", answer);
		return {
			kind: "bytes",
			media: { bytes, contentType: contentType ?? mediaTypeOf(bytes) ?? defaultType },
		};
	},
});

const imageBase64 = jsonWriter("text-to-image", z.object({ image: z.string() }), ({ bytes }) => ({
	image: encodeBase64(bytes),
}));

export const textToImageWriters = {
	"image-png": rawImage("image/png"),
	"image-jpeg": rawImage("image/jpeg"),
	"image-b64": imageBase64,
} satisfies Partial<Record<OutputShape, NativeWriter>>;
