/**
 * Images: by `predict` from Imagen, which starts from a text alone, by `generateContent` from every other model, which takes
 * images too (https://ai.google.dev/gemini-api/docs/image-generation). Neither knows sizes in pixels: the nearest shape is
 * asked for. The file is passed on as it came.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { decodeBase64, encodeBase64 } from "../../media/base64.ts";
import type { Media } from "../../media/media.ts";
import { mediaTypeOf, typeOf } from "../../media/types.ts";
import type { Answer } from "../../tasks/task.ts";
import type { ImageInput } from "../../tasks/text-to-image/types.ts";
import { postJson } from "../transport/http.ts";
import { type Call, failureOfContent } from "../transport/upstream-failure.ts";
import { seedOf } from "./generation.ts";
import { finishReason, GenerateReply, refuseBlocked } from "./reply.ts";
import { pathOf } from "./service.ts";

const IMAGEN = /^(?:models\/)?imagen-/;
const IMAGEN_SHAPES = ["1:1", "3:4", "4:3", "9:16", "16:9"];
const SHAPES = [...IMAGEN_SHAPES, "2:3", "3:2", "4:5", "5:4", "21:9"];

export async function paint(input: ImageInput, call: Call): Promise<Answer<"text-to-image">> {
	if (input.mask) throw refused(call, "masks");
	const data = IMAGEN.test(call.target.model) ? await predict(input, call) : await generate(input, call);
	const bytes = data === undefined ? undefined : decodeBase64(data);
	const contentType = bytes && mediaTypeOf(bytes);
	if (!bytes || !contentType?.startsWith("image/"))
		throw failureOfContent(call, "answered with something that is not an image");
	return { kind: "value", output: { bytes, contentType } };
}

const PredictReply = z.looseObject({
	predictions: z.array(z.looseObject({ bytesBase64Encoded: z.string().nullish() })).nullish(),
});

async function predict(input: ImageInput, call: Call): Promise<string | undefined> {
	if (input.images.length > 0) throw refused(call, "images to start from");
	const { predictions } = await postJson(
		call,
		pathOf(call, "predict"),
		{
			instances: [{ prompt: input.prompt }],
			parameters: { sampleCount: 1, aspectRatio: nearest(input, IMAGEN_SHAPES) },
		},
		PredictReply,
	);
	// It answers with nothing where its filter holds everything back.
	if (!predictions?.length) throw filtered(call);
	return predictions[0]?.bytesBase64Encoded ?? undefined;
}

async function generate(input: ImageInput, call: Call): Promise<string | undefined> {
	const reply = await postJson(
		call,
		pathOf(call, "generateContent"),
		{
			contents: [{ role: "user", parts: [{ text: input.prompt }, ...input.images.map(inline)] }],
			generationConfig: {
				responseModalities: ["TEXT", "IMAGE"],
				seed: seedOf(input.seed),
				imageConfig: { aspectRatio: nearest(input, SHAPES) },
			},
		},
		GenerateReply,
	);
	refuseBlocked(reply, call);
	const [candidate] = reply.candidates ?? [];
	const image = candidate?.content?.parts?.findLast(({ inlineData, thought }) => inlineData && !thought);
	if (!image && finishReason(candidate?.finishReason || "STOP", false, call) === "content_filter")
		throw filtered(call);
	return image?.inlineData?.data;
}

const inline = (image: Media) => ({
	inlineData: {
		mimeType: typeOf(image) ?? image.contentType ?? "image/png",
		data: encodeBase64(image.bytes),
	},
});

/** By how much one would have to be stretched to be the other. */
function nearest({ width, height }: ImageInput, shapes: readonly string[]): string {
	const stretch = (shape: string): number => {
		const [across = 1, down = 1] = shape.split(":").map(Number);
		return Math.abs(Math.log((width / height / across) * down));
	};
	return shapes.reduce((best, shape) => (stretch(shape) < stretch(best) ? shape : best));
}

const refused = ({ target }: Call, what: string) =>
	new AiError("engineRefused", `The backend '${target.backend}' has no input for ${what}`, {
		retryable: true,
	});

const filtered = ({ target: { backend } }: Call) =>
	new AiError("refusedByModel", `The backend '${backend}' filtered the image`, {
		upstream: { backend, status: 200 },
	});
