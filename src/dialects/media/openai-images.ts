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
import type { ImageInput, ImageTokens } from "../../tasks/text-to-image/index.ts";
import type { Dialect, Reader, Writer } from "../dialect.ts";
import { nullAsAbsent } from "../fields.ts";
import { badInput } from "../invalid-input.ts";
import { jsonWriter } from "../output-value.ts";
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
	/** For streams: unfinished images before the complete one. */
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
		const { stream, partial_images = 0, seed, negative_prompt, ...fields } = sent;
		const { guidance_scale: guidance, num_inference_steps, ...others } = fields;
		const { steps = num_inference_steps, ...options } = others;
		const format = formatOf({ n, response_format, output_format });
		const partialImages = stream ? partial_images : undefined;
		const diffusion = present({ seed, negative_prompt, guidance, steps, partialImages });
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

const Tokens = z.looseObject({ input_tokens: z.int(), output_tokens: z.int(), total_tokens: z.int() });

const ImagesResponse = z.object({
	created: z.int(),
	data: z.array(z.object({ b64_json: z.string() })),
	quality: z.string().optional(),
	background: z.string().optional(),
	/** From engines that count tokens. */
	usage: Tokens.optional(),
});

const wholeWriter = jsonWriter(
	"text-to-image",
	ImagesResponse,
	({ bytes, quality, background, tokens: usage }, { now }) => ({
		created: Math.floor(now / 1000),
		data: [{ b64_json: encodeBase64(bytes) }],
		...present({ quality, background, usage }),
	}),
);

export const imagesWriter = (operation: ImageOperation): Writer => ({
	write: (answer, context) =>
		(context.call.input as ImageInput).partialImages === undefined
			? wholeWriter.write(answer, context)
			: { kind: "events", events: imageEvents(answer, operation, context) },
});

export const openaiImages: Dialect = {
	reader,
	writer: imagesWriter("image_generation"),
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
	const replies = values.map((value) => ImagesResponse.parse(value));
	const [first] = replies;
	if (!first) throw new TypeError("There is no image to merge");
	const usage = replies.map((reply) => reply.usage).reduce(sumOf);
	const { usage: _, ...common } = first;
	return { ...common, data: replies.flatMap(({ data }) => data), ...(usage && { usage }) };
}

/** Without the details, which hosts have in different forms. `undefined` if one has no counts. */
const sumOf = (one: ImageTokens | undefined, other: ImageTokens | undefined): ImageTokens | undefined =>
	one &&
	other && {
		input_tokens: one.input_tokens + other.input_tokens,
		output_tokens: one.output_tokens + other.output_tokens,
		total_tokens: one.total_tokens + other.total_tokens,
	};
