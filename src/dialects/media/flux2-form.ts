/** FLUX.2: a form is the only input. The field types come from the model's launch announcement. */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { present } from "../../core/present.ts";
import { undecodableImage } from "../../core/undecodable-image.ts";
import { imageSizeOf } from "../../media/image-size.ts";
import type { Media } from "../../media/media.ts";
import type { Reader } from "../dialect.ts";
import { modelFields, perModel } from "../fields.ts";
import { FormInput, readFormFields } from "./form-fields.ts";
import { imageCall, sizeRange } from "./image-input.ts";
import { imageOf } from "./media.ts";
import type { MultipartForm } from "./multipart.ts";

const MAX_IMAGES = 4;
/** Pixels per side of a reference image. */
const MAX_IMAGE_SIDE = 512;

const { min, max } = sizeRange({ input: "tti-multipart" });
/** The klein models have no `steps`: they are distilled to four. */
const FORM_FIELDS = {
	prompt: z.string().min(1),
	steps: z.int().min(1).max(50).optional(),
	guidance: z.number().optional(),
	width: z.int().min(min).max(max).optional(),
	height: z.int().min(min).max(max).optional(),
	seed: z.int().optional(),
};
const NUMBERS = Object.keys(FORM_FIELDS).filter((name) => name !== "prompt");
const formFields = perModel((model) => modelFields(FORM_FIELDS, model));

export const flux2Form: Reader = {
	schema: perModel((model) => modelFields(FormInput.shape, model)),
	body: { field: "multipart", as: "wrapped" },
	read({ multipart: { body: form } }: FormInput, model) {
		const { prompt, ...fields } = readFormFields(form, formFields(model), { numbers: NUMBERS });
		return imageCall({ prompt, ...present(fields), images: imagesOf(form) }, model);
	},
};

function imagesOf(form: MultipartForm): Media[] {
	const images: Media[] = [];
	for (let number = 0; number < MAX_IMAGES; number++) {
		const file = form.file(`input_image_${number}`);
		if (!file) continue;
		const name = `image[${images.length}]`;
		const image = imageOf(file.bytes, name);
		const size = imageSizeOf(image.bytes);
		if (!size) throw undecodableImage(name);
		if (size.width > MAX_IMAGE_SIDE || size.height > MAX_IMAGE_SIDE)
			throw new AiError(
				"refusedByModel",
				`Invalid input ${name}: ${size.width}x${size.height} is larger than ${MAX_IMAGE_SIDE}x${MAX_IMAGE_SIDE}`,
			);
		images.push(image);
	}
	return images;
}
