/**
 * `POST /images/generations`. Fields that steer OpenAI's own models (`quality`, `style`, `background`) do nothing.
 *
 * Engines paint one image a call, so a request for several is taken apart in front of the pipeline ({@link eachImage})
 * and put together behind it ({@link together}).
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import type { Model } from "../../models/model.ts";
import type { Dialect, Reader, Writer } from "../dialect.ts";
import { nullAsAbsent, present } from "../fields.ts";
import { outputValue } from "../output-value.ts";
import { paint, sizeRange } from "./image-input.ts";
import { encodeBase64 } from "./media.ts";

/** Of one request, as at OpenAI. */
const MOST_IMAGES = 10;

const ImagesRequest = nullAsAbsent(
	z.object({
		model: z.string(),
		prompt: z.string().min(1),
		n: z.int().min(1).max(MOST_IMAGES).optional(),
		size: z
			.string()
			.regex(/^(?:auto|[1-9]\d{0,4}x[1-9]\d{0,4})$/)
			.optional(),
		response_format: z.enum(["b64_json", "url"]).optional(),
		output_format: z.enum(["png", "jpeg", "webp"]).optional(),
		stream: z.boolean().optional(),
		/** Ours: OpenAI has no such field. */
		seed: z.int().optional(),
	}),
);
type ImagesRequest = z.output<typeof ImagesRequest>;

const reader: Reader = {
	schema: () => ImagesRequest,
	read({ prompt, n, size, response_format, output_format, stream, seed }: ImagesRequest, model) {
		const format = formatOf({ n, response_format, output_format, stream });
		return paint({ prompt, format, ...present({ seed }), ...sidesOf(size, model) }, model);
	},
};

/** The format of the file. Throws 5006 for what neither generating nor editing can do here. */
export function formatOf(
	fields: Partial<Pick<ImagesRequest, "n" | "response_format" | "output_format" | "stream">>,
): "png" | "jpeg" {
	const { n, response_format, output_format, stream } = fields;
	if (n !== undefined && n !== 1) throw refused("'/n' must be 1: one image a request");
	if (stream) throw refused("'/stream' must be false: images come whole");
	if (response_format === "url")
		throw refused("'/response_format' must be 'b64_json': no images are kept here to be fetched by 'url'");
	if (output_format === "webp") throw refused("'/output_format' must be 'png' or 'jpeg'");
	return output_format ?? "png";
}

export function sidesOf(
	size: string | undefined,
	model: Model,
): { width: number; height: number } | undefined {
	if (!size || size === "auto") return undefined;
	const [width = 0, height = 0] = size.split("x").map(Number);
	const { min, max } = sizeRange(model);
	if (Math.min(width, height) < min || Math.max(width, height) > max)
		throw refused(`'/size' must be from ${min}x${min} to ${max}x${max} for this model`);
	return { width, height };
}

export const refused = (what: string): AiError => new AiError("badInput", `Error: ${what}`);

const ImagesResponse = z.object({
	created: z.int(),
	data: z.array(z.object({ b64_json: z.string() })),
});

export const imagesWriter: Writer = {
	schema: ImagesResponse,
	write(answer, { now }) {
		const value: z.output<typeof ImagesResponse> = {
			created: Math.floor(now / 1000),
			data: [{ b64_json: encodeBase64(outputValue("text-to-image", answer).bytes) }],
		};
		return { kind: "json", value };
	},
};

export const openaiImages: Dialect = { reader, writer: imagesWriter };

const AsksForSeveral = z.looseObject({ n: z.int().min(2).max(MOST_IMAGES), seed: z.int().nullish() });

/** A body for each image that is asked for, its seed one above the last. One that is wrong stays, for the reader. */
export function eachImage(fields: unknown): [unknown, ...unknown[]] {
	const { data } = AsksForSeveral.safeParse(fields);
	if (!data) return [fields];
	const { n, seed, ...rest } = data;
	const body = (place: number) => ({ ...rest, ...(seed != null && { seed: seed + place }) });
	return [body(0), ...Array.from({ length: n - 1 }, (_, place) => body(place + 1))];
}

/** What the writer gave for each of them, as one. */
export function together(values: readonly unknown[]): z.output<typeof ImagesResponse> {
	const [first, ...others] = values.map((value) => ImagesResponse.parse(value));
	if (!first) throw new TypeError("There is no image to put together");
	return { ...first, data: [first, ...others].flatMap(({ data }) => data) };
}
