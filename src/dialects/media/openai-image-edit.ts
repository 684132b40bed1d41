/**
 * `POST /images/edits`: a form with one or more input images, for models that accept images. Stable Diffusion uses the
 * first, FLUX.2 up to four. An engine with a model of the operator's own receives all of them.
 *
 * Known difference from OpenAI: no `mask`. OpenAI's mask marks the area by transparency, the models' own mask by
 * brightness.
 */
import * as z from "zod";
import { present } from "../../core/present.ts";
import type { Media } from "../../media/media.ts";
import { inputFamily } from "../../models/family.ts";
import { isOperatorModel, type Model } from "../../models/model.ts";
import type { Dialect, Reader } from "../dialect.ts";
import { badInput } from "../invalid-input.ts";
import { extendedByForm } from "./extensions.ts";
import { FormInput, readFormFields } from "./form-fields.ts";
import { imageCall } from "./image-input.ts";
import { imageOf } from "./media.ts";
import type { MultipartForm } from "./multipart.ts";
import { formatOf, ImageFields, imagesWriter, sizeFields } from "./openai-images.ts";

const MAX_IMAGES = 16;

const Fields = z.object({
	prompt: z.string().min(1),
	n: z.int().min(1).max(10).optional(),
	...ImageFields,
	stream: z.enum(["true", "false"]).optional(),
	/** Our extensions: OpenAI does not have them. */
	seed: z.int().optional(),
	strength: z.number().min(0).max(1).optional(),
});
/** Read elsewhere. */
const OTHER_FIELDS = { model: true, image: true, "image[]": true };
const NUMBERS = ["n", "partial_images", "seed", "strength"];

function imagesOf(form: MultipartForm, model: Model): Media[] {
	const files = form.parts.flatMap((part) =>
		(part.name === "image" || part.name === "image[]") && "bytes" in part ? [part.bytes] : [],
	);
	if (files.length === 0) throw badInput("required properties at '/' are 'image'");
	const max = maxImages(model);
	if (max === 0) throw badInput("'/model' must be one that takes images");
	if (files.length > max) throw badInput(`'/image' must have at most ${max} images for this model`);
	return files.map((bytes, index) => imageOf(bytes, `image[${index}]`));
}

function maxImages(model: Model): number {
	// The engine decides.
	if (isOperatorModel(model)) return MAX_IMAGES;
	const { maxImages: familyMax = 0, imageFields } = inputFamily(model).image ?? {};
	const accepts = !imageFields || (model.inputFields?.some((field) => imageFields.includes(field)) ?? true);
	return accepts ? familyMax : 0;
}

const reader: Reader = {
	schema: () => FormInput,
	body: { field: "multipart", as: "wrapped" },
	read({ multipart: { body: form } }: FormInput, model) {
		const sent = readFormFields(form, Fields, { numbers: NUMBERS });
		const { prompt, n, size, response_format, output_format, seed, strength, stream } = sent;
		const partialImages = stream === "true" ? (sent.partial_images ?? 0) : undefined;
		const format = formatOf({ n, response_format, output_format });
		if (form.parts.some(({ name }) => name === "mask"))
			throw badInput("'/mask' must be absent: the models here do not mask by transparency");
		return imageCall(
			{
				prompt,
				format,
				images: imagesOf(form, model),
				...present({ seed, strength, partialImages }),
				...sizeFields(size, model),
				...extendedByForm(form, { ...Fields.shape, ...OTHER_FIELDS }),
			},
			model,
		);
	},
};

export const openaiImageEdit: Dialect = {
	reader,
	writer: imagesWriter("image_edit"),
};
