/**
 * `POST /images/generations`. Other fields (`quality`, `style`, `background`, …) reach hosts that know them.
 *
 * Engines generate one image per call. A request for several images is split before the pipeline
 * ({@link singleImageBodies}), and the replies are merged after it ({@link mergeImages}).
 */
import * as z from "zod";
import { present } from "../../core/present.ts";
import { encodeBase64 } from "../../media/base64.ts";
import type { Model } from "../../models/model.ts";
import type { Dialect, Reader, Writer } from "../dialect.ts";
import { nullAsAbsent } from "../fields.ts";
import { badInput } from "../invalid-input.ts";
import { jsonWriter, outputValue } from "../output-value.ts";
import { extended } from "./extensions.ts";
import { type ImageOperation, imageEvents } from "./image-events.ts";
import { imageCall, sizeRange } from "./image-input.ts";

/** Per request, as in OpenAI's API. */
const MAX_IMAGES = 10;
const MAX_STEPS = 100;

/** Fields of generations and edits. */
export const ImageFields = {
	size: z
		.string()
		.regex(/^(?:auto|[1-9]\d{0,4}x[1-9]\d{0,4})$/)
		.optional(),
	response_format: z.enum(["b64_json", "url"]).optional(),
	output_format: z.enum(["png", "jpeg", "webp"]).optional(),
	/** For streams. No engine here sends unfinished images. */
	partial_images: z.int().min(0).max(3).optional(),
};

const ImagesRequest = nullAsAbsent(
	z.looseObject({
		model: z.string(),
		prompt: z.string().min(1),
		n: z.int().min(1).max(MAX_IMAGES).optional(),
		...ImageFields,
		stream: z.boolean().optional(),
		/** OpenAI does not have these. They count for the price, so they are no options of the engine. */
		seed: z.int().optional(),
		negative_prompt: z.string().optional(),
		guidance_scale: z.number().min(0).optional(),
		steps: z.int().min(1).max(MAX_STEPS).optional(),
		num_inference_steps: z.int().min(1).max(MAX_STEPS).optional(),
	}),
);
type ImagesRequest = z.output<typeof ImagesRequest>;

const reader: Reader = {
	schema: () => ImagesRequest,
	read({ model: _, prompt, n, size, response_format, output_format, ...sent }: ImagesRequest, model) {
		const { stream: _stream, partial_images: _partial, seed, negative_prompt, ...fields } = sent;
		const { guidance_scale: guidance, num_inference_steps, ...others } = fields;
		const { steps = num_inference_steps, ...options } = others;
		const format = formatOf({ n, response_format, output_format });
		const diffusion = present({ seed, negative_prompt, guidance, steps });
		return imageCall(
			{ prompt, format, ...diffusion, ...sizeFields(size, model), ...extended(options) },
			model,
		);
	},
};

/** The format of the image file. Throws 5006 for options that are not supported here. */
export function formatOf(
	fields: Partial<Pick<ImagesRequest, "n" | "response_format" | "output_format">>,
): "png" | "jpeg" {
	const { n, response_format, output_format } = fields;
	if (n !== undefined && n !== 1) throw badInput("'/n' must be 1: one image per request");
	if (response_format === "url")
		throw badInput("'/response_format' must be 'b64_json': images are not stored, so there is no 'url'");
	if (output_format === "webp") throw badInput("'/output_format' must be 'png' or 'jpeg'");
	return output_format ?? "png";
}

export function sizeFields(
	size: string | undefined,
	model: Model,
): { width: number; height: number } | undefined {
	if (!size || size === "auto") return undefined;
	const [width = 0, height = 0] = size.split("x").map(Number);
	const { min, max } = sizeRange(model);
	if (Math.min(width, height) < min || Math.max(width, height) > max)
		throw badInput(`'/size' must be from ${min}x${min} to ${max}x${max} for this model`);
	return { width, height };
}

const ImagesResponse = z.object({
	created: z.int(),
	data: z.array(z.object({ b64_json: z.string() })),
});

const wholeWriter = jsonWriter("text-to-image", ImagesResponse, ({ bytes }, { now }) => ({
	created: Math.floor(now / 1000),
	data: [{ b64_json: encodeBase64(bytes) }],
}));

/** `streams`: whether the caller's inputs request events. */
export const imagesWriter = (operation: ImageOperation, streams: (inputs: never) => boolean): Writer => ({
	write: (answer, context) =>
		streams(context.inputs as never)
			? { kind: "events", events: imageEvents(outputValue("text-to-image", answer), operation, context) }
			: wholeWriter.write(answer, context),
});

export const openaiImages: Dialect = {
	reader,
	writer: imagesWriter("image_generation", ({ stream }: ImagesRequest) => stream ?? false),
};

const ImageBatch = z.looseObject({ n: z.int().min(2).max(MAX_IMAGES), seed: z.int().nullish() });

/** One body per requested image, with consecutive seeds. Any other body stays unchanged; the reader validates it. */
export function singleImageBodies(fields: unknown): [unknown, ...unknown[]] {
	const { data } = ImageBatch.safeParse(fields);
	if (!data) return [fields];
	const { n, seed, ...common } = data;
	const body = (index: number) => ({ ...common, ...(seed != null && { seed: seed + index }) });
	return [body(0), ...Array.from({ length: n - 1 }, (_, index) => body(index + 1))];
}

/** Merges the replies of a batch. */
export function mergeImages(values: readonly unknown[]): z.output<typeof ImagesResponse> {
	const [first, ...others] = values.map((value) => ImagesResponse.parse(value));
	if (!first) throw new TypeError("There is no image to merge");
	return { ...first, data: [first, ...others].flatMap(({ data }) => data) };
}
