/** FLUX.2: a form is the only input. Its fields are text; what they must be is of the model's launch note. */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { undecodableImage } from "../../core/undecodable-image.ts";
import { imageSizeOf } from "../../media/image-size.ts";
import type { Media } from "../../media/media.ts";
import type { Reader } from "../dialect.ts";
import { modelFields, perModel, present } from "../fields.ts";
import { validate } from "../validation/validation.ts";
import { paint, sizeRange } from "./image-input.ts";
import { imageOf } from "./media.ts";
import { FormBody, type MultipartForm, type WrappedForm } from "./multipart.ts";

const MAX_IMAGES = 4;
/** Pixels of a side of an image to refer to. */
const MAX_IMAGE_SIDE = 512;

const FORM = { multipart: FormBody };

const { min, max } = sizeRange({ input: "tti-multipart" });
/** Of the form. `steps` is not of the klein models: they are distilled to four. */
const FORM_FIELDS = {
	prompt: z.string().min(1),
	steps: z.int().min(1).max(50).optional(),
	guidance: z.number().optional(),
	width: z.int().min(min).max(max).optional(),
	height: z.int().min(min).max(max).optional(),
	seed: z.int().optional(),
};
const formFields = perModel((model) => modelFields(FORM_FIELDS, model));

export const flux2Form: Reader = {
	schema: perModel((model) => modelFields(FORM, model)),
	body: { field: "multipart", as: "wrapped" },
	read({ multipart: { body: form } }: { multipart: WrappedForm }, model) {
		const { prompt, ...fields } = validate(formFields(model), fieldsOf(form));
		return paint({ prompt, ...present(fields), images: imagesOf(form) }, model);
	},
};

/** Numbers as numbers; what is no number stays text, for the schema to refuse. */
function fieldsOf(form: MultipartForm): Record<string, unknown> {
	const names = Object.keys(FORM_FIELDS);
	return Object.fromEntries(
		names.flatMap((name) => {
			const text = form.text(name);
			// An empty field of a form is one that nobody filled in.
			if (text === undefined || text === "") return [];
			const number = Number(text);
			return [[name, name === "prompt" || Number.isNaN(number) ? text : number]];
		}),
	);
}

function imagesOf(form: MultipartForm): Media[] {
	const images: Media[] = [];
	for (let at = 0; at < MAX_IMAGES; at++) {
		const file = form.file(`input_image_${at}`);
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
