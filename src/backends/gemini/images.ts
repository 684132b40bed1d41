/**
 * Images: `predict` for Imagen, which has only text input; `generateContent` for all other models, which accept images, too
 * (https://ai.google.dev/gemini-api/docs/image-generation). Neither has sizes in pixels: the nearest aspect ratio is
 * requested. The file is returned unchanged.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { encodeBase64 } from "../../media/base64.ts";
import type { ImageInput } from "../../tasks/text-to-image/index.ts";
import type { Handler } from "../handler.ts";
import { imageIn, imageTypeOf } from "../images.ts";
import { postJson } from "../transport/http.ts";
import { type Call, failureOfContent } from "../transport/upstream-failure.ts";
import { unsupported } from "../unsupported.ts";
import { seedOf } from "./generation.ts";
import { finishReason, GenerateReply, refuseBlocked } from "./reply.ts";
import { pathOf } from "./service.ts";

const IMAGEN = /^(?:models\/)?imagen-/;
const IMAGEN_ASPECT_RATIOS = ["1:1", "3:4", "4:3", "9:16", "16:9"];
const ASPECT_RATIOS = [...IMAGEN_ASPECT_RATIOS, "2:3", "3:2", "4:5", "5:4", "21:9"];

export const generateImage: Handler<"text-to-image"> = async (input, call) => {
	if (input.mask) throw unsupported(call, "has no input for masks");
	const data = IMAGEN.test(call.target.model) ? await predict(input, call) : await generate(input, call);
	const image = data && imageIn(data);
	if (!image) throw failureOfContent(call, "answered with something that is not an image");
	return image;
};

const PredictReply = z.looseObject({
	predictions: z.array(z.looseObject({ bytesBase64Encoded: z.string().nullish() })).nullish(),
});

async function predict(input: ImageInput, call: Call): Promise<string | null | undefined> {
	if (input.images.length > 0) throw unsupported(call, "has no input for images to start from");
	const parameters = { sampleCount: 1, aspectRatio: nearest(input, IMAGEN_ASPECT_RATIOS) };
	const body = { instances: [{ prompt: input.prompt }], parameters };
	const { predictions } = await postJson(call, pathOf(call, "predict"), body, PredictReply);
	// The reply is empty if the filter blocks all images.
	if (!predictions?.length) throw filtered(call);
	return predictions[0]?.bytesBase64Encoded;
}

async function generate(input: ImageInput, call: Call): Promise<string | undefined> {
	const images = input.images.map((image) => ({
		inlineData: { mimeType: imageTypeOf(image), data: encodeBase64(image.bytes) },
	}));
	const body = {
		contents: [{ role: "user", parts: [{ text: input.prompt }, ...images] }],
		generationConfig: {
			responseModalities: ["TEXT", "IMAGE"],
			seed: seedOf(input.seed),
			imageConfig: { aspectRatio: nearest(input, ASPECT_RATIOS) },
		},
	};
	const reply = await postJson(call, pathOf(call, "generateContent"), body, GenerateReply);
	refuseBlocked(reply, call);
	const candidate = reply.candidates?.[0];
	const image = candidate?.content?.parts?.findLast(({ inlineData, thought }) => inlineData && !thought);
	if (!image && finishReason(candidate?.finishReason || "STOP", false, call) === "content_filter")
		throw filtered(call);
	return image?.inlineData?.data;
}

/** The aspect ratio with the smallest distortion. */
function nearest({ width, height }: ImageInput, ratios: readonly string[]): string {
	const stretch = (ratio: string): number => {
		const [across = 1, down = 1] = ratio.split(":").map(Number);
		return Math.abs(Math.log((width / height / across) * down));
	};
	return ratios.reduce((best, ratio) => (stretch(ratio) < stretch(best) ? ratio : best));
}

const filtered = ({ target: { backend } }: Call) =>
	new AiError("refusedByModel", `The backend '${backend}' filtered the image`, {
		upstream: { backend, status: 200 },
	});
