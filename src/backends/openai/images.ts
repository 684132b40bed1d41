/**
 * https://platform.openai.com/docs/api-reference/images: `/images/generations`, and `/images/edits` with input images.
 * The size is sent unchanged (OpenAI's own models have three and refuse others). The file is returned unchanged; its bytes
 * determine its type.
 */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { present } from "../../core/present.ts";
import type { ImageInput } from "../../tasks/text-to-image/index.ts";
import type { Handler } from "../handler.ts";
import { imageFile, imageIn } from "../images.ts";
import { postJson, type RequestBody } from "../transport/http.ts";
import { type Call, failureOfShape } from "../transport/upstream-failure.ts";
import { appendFields } from "./form-fields.ts";
import { isOpenAiService, mediaExtensions } from "./hosts.ts";

const ImagesReply = lazy(() =>
	z.looseObject({
		data: z.tuple([z.looseObject({ b64_json: z.string() })], z.unknown()),
	}),
);

/** These models always answer in base64, refuse `response_format`, and have `output_format` instead. */
const NAMES_OUTPUT_FORMAT = /(^|\/)(chat)?gpt-image/;

export const generateImage: Handler<"text-to-image"> = async (input, call) => {
	const edits = input.images.length > 0;
	const extensions = mediaExtensions(call, edits ? "image edit" : "image", input.extensions);
	const fields = { ...extensions, ...present(fieldsOf(input, call)) };
	const body: RequestBody = edits ? formOf(fields, input) : fields;
	const reply = await postJson(call, edits ? "/images/edits" : "/images/generations", body, ImagesReply());
	const image = imageIn(reply.data[0].b64_json);
	if (!image) throw failureOfShape(call, "an image");
	return image;
};

function fieldsOf(input: ImageInput, { target }: Call): Record<string, unknown> {
	return {
		model: target.model,
		prompt: input.prompt,
		n: 1,
		size: `${input.width}x${input.height}`,
		...(NAMES_OUTPUT_FORMAT.test(target.model)
			? { output_format: input.format }
			: { response_format: "b64_json" }),
		// The names of SGLang and vLLM-Omni; `step` is LocalAI's, `steps` Together's.
		...(!isOpenAiService(target) && {
			output_format: input.format,
			negative_prompt: input.negative_prompt,
			num_inference_steps: input.steps,
			step: input.steps,
			steps: input.steps,
			guidance_scale: input.guidance,
			seed: input.seed,
			strength: input.strength,
		}),
	};
}

function formOf(fields: Record<string, unknown>, { images, mask }: ImageInput): FormData {
	const form = new FormData();
	appendFields(form, fields);
	const field = images.length === 1 ? "image" : "image[]";
	for (const [index, image] of images.entries()) form.append(field, imageFile(image, `image-${index}`));
	if (mask) form.append("mask", imageFile(mask, "mask"));
	return form;
}
