/** Text to image: the inputs of each model, and the two ways in which an image comes back. */
import * as z from "zod";
import { decodeBase64, encodeBase64 } from "../../media/base64.ts";
import { extensionOf, mediaTypeOf, typeOf } from "../../media/types.ts";
import type { Model } from "../../models/model.ts";
import type { Answer } from "../../tasks/task.ts";
import type { ImageInput } from "../../tasks/text-to-image/types.ts";
import { type Call, failureOfShape } from "../transport/upstream-failure.ts";
import { byteList, type Inputs, runBytes, runJson, upstreamModel, value } from "./run.ts";

const ImageReply = z.looseObject({ image: z.string().min(1) });

export async function paint(input: ImageInput, call: Call): Promise<Answer<"text-to-image">> {
	const model = upstreamModel(call);
	const inputs = inputsOf(input, model);
	if (model.output === "image-png" || model.output === "image-jpeg") {
		const { bytes, contentType } = await runBytes(call, inputs);
		return value({ bytes, contentType: mediaTypeOf(bytes) ?? contentType ?? "image/png" });
	}
	const bytes = decodeBase64((await runJson(call, inputs, ImageReply)).image);
	const contentType = bytes && mediaTypeOf(bytes);
	if (!bytes || !contentType?.startsWith("image/")) throw failureOfShape(call, "an image");
	return value({ bytes, contentType });
}

function inputsOf(input: ImageInput, model: Model): Inputs {
	const { prompt, negative_prompt, width, height, steps, guidance, seed } = input;
	switch (model.input) {
		// Its schema allows nothing else; the seed is in none, and reported to work.
		case "tti-flux1":
			return { prompt, steps, seed };
		case "tti-lucid":
			return { prompt, width, height, num_steps: steps, guidance, seed };
		case "tti-phoenix":
			return { prompt, negative_prompt, width, height, num_steps: steps, guidance, seed };
		case "tti-multipart":
			return formOf(input, model);
		default:
			return {
				prompt,
				negative_prompt,
				width,
				height,
				num_steps: steps,
				guidance,
				seed,
				...(input.images[0] && {
					image_b64: encodeBase64(input.images[0].bytes),
					strength: input.strength,
					mask: input.mask && byteList(input.mask),
				}),
			};
	}
}

/** FLUX.2's form. The distilled ones have no `steps`. */
function formOf(input: ImageInput, { inputFields }: Model): FormData {
	const { prompt, width, height, steps, guidance, seed } = input;
	const form = new FormData();
	for (const [name, field] of Object.entries({ prompt, width, height, steps, guidance, seed }))
		if (field !== undefined && (inputFields?.includes(name) ?? true)) form.append(name, String(field));
	for (const [place, image] of input.images.entries()) {
		const type = typeOf(image) ?? "image/png";
		const name = `input_image_${place}`;
		form.append(name, new File([image.bytes], `${name}.${extensionOf(type) ?? "png"}`, { type }));
	}
	return form;
}
