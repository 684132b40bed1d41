/** Text to image: the inputs of each model, and the two reply formats. */
import * as z from "zod";
import { encodeBase64 } from "../../media/base64.ts";
import type { Media } from "../../media/media.ts";
import { mediaTypeOf } from "../../media/types.ts";
import { type ImageTraits, INPUT_FAMILIES } from "../../models/families.ts";
import { inputFamily, outputFamily } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { ImageInput } from "../../tasks/text-to-image/index.ts";
import type { Handler } from "../handler.ts";
import { imageFile, imageIn } from "../images.ts";
import { failureOfShape } from "../transport/upstream-failure.ts";
import { byteList, runBytes, runJson, upstreamModel, type WorkersAiInputs } from "./run.ts";

const ImageReply = z.looseObject({ image: z.string().min(1) });

export const generateImage: Handler<"text-to-image"> = async (input, call) => {
	const model = upstreamModel(call);
	const inputs = inputsOf(input, model);
	if (outputFamily(model).imageFile) {
		const { bytes, contentType } = await runBytes(call, inputs);
		return { bytes, contentType: mediaTypeOf(bytes) ?? contentType ?? "image/png" };
	}
	const sent = (await runJson(call, inputs, ImageReply)).image;
	const image = imageIn(sent);
	if (!image) throw failureOfShape(call, "an image", sent);
	return image;
};

/** For a model with unknown fields: those of the older diffusion models. */
const DEFAULT: ImageTraits = INPUT_FAMILIES["tti-sd"].image;

function inputsOf(input: ImageInput, model: Model): WorkersAiInputs {
	const { prompt, negative_prompt, width, height, steps, guidance, seed, strength, mask } = input;
	const values: Record<string, unknown> = {
		...{ prompt, negative_prompt, width, height },
		...{ steps, num_steps: steps, guidance, seed },
	};
	const { fields, isForm, takesStartImage } = inputFamily(model).image ?? DEFAULT;
	const inputs = Object.fromEntries(fields.map((name) => [name, values[name]]));
	if (isForm) return formOf(inputs, input.images, model);
	const [first] = input.images;
	if (!takesStartImage || !first) return inputs;
	return { ...inputs, image_b64: encodeBase64(first.bytes), strength, mask: mask && byteList(mask) };
}

/** FLUX.2's form. The distilled ones have no `steps`. */
function formOf(inputs: Record<string, unknown>, images: readonly Media[], { inputFields }: Model): FormData {
	const form = new FormData();
	for (const [name, field] of Object.entries(inputs))
		if (field !== undefined && (inputFields?.includes(name) ?? true)) form.append(name, String(field));
	for (const [place, image] of images.entries())
		form.append(`input_image_${place}`, imageFile(image, `input_image_${place}`));
	return form;
}
