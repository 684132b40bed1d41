/**
 * `POST /images/edits`: a form with one image or several to start from. For models that take images: Stable Diffusion's
 * start from the first, FLUX.2's refer to up to four. An engine with an ad hoc model gets them all.
 *
 * Known difference from OpenAI: there is no `mask`. OpenAI's marks by transparency what is to be painted, the models'
 * own by brightness.
 */

import * as z from "zod";
import type { Media } from "../../media/media.ts";
import { inputFamily } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { Dialect, Reader } from "../dialect.ts";
import { present } from "../fields.ts";
import { validate } from "../validation/validation.ts";
import { paint } from "./image-input.ts";
import { imageOf } from "./media.ts";
import { FormBody, type MultipartForm, type WrappedForm } from "./multipart.ts";
import { formatOf, imagesWriter, refused, sidesOf } from "./openai-images.ts";

const MAX_IMAGES = 16;

const Form = z.object({ multipart: FormBody });

const Fields = z.object({
	prompt: z.string().min(1),
	n: z.int().min(1).max(10).optional(),
	size: z
		.string()
		.regex(/^(?:auto|[1-9]\d{0,4}x[1-9]\d{0,4})$/)
		.optional(),
	response_format: z.enum(["b64_json", "url"]).optional(),
	output_format: z.enum(["png", "jpeg", "webp"]).optional(),
	stream: z.enum(["true", "false"]).optional(),
	/** Ours: OpenAI has no such fields. */
	seed: z.int().optional(),
	strength: z.number().min(0).max(1).optional(),
});
const NUMBERS: ReadonlySet<string> = new Set(["n", "seed", "strength"]);

/** Empty fields are absent ones. */
function fieldsOf(form: MultipartForm): z.output<typeof Fields> {
	const sent = Object.keys(Fields.shape).flatMap((name): [string, unknown][] => {
		const text = form.text(name);
		if (text === undefined || text === "") return [];
		const number = NUMBERS.has(name) ? Number(text) : Number.NaN;
		return [[name, Number.isNaN(number) ? text : number]];
	});
	return validate(Fields, Object.fromEntries(sent));
}

function imagesOf(form: MultipartForm, model: Model): Media[] {
	const files = form.parts.flatMap((part) =>
		(part.name === "image" || part.name === "image[]") && "bytes" in part ? [part.bytes] : [],
	);
	if (files.length === 0) throw refused("required properties at '/' are 'image'");
	const most = mostImages(model);
	if (most === 0) throw refused("'/model' must be one that takes images");
	if (files.length > most) throw refused(`'/image' must have at most ${most} images for this model`);
	return files.map((bytes, place) => imageOf(bytes, `image[${place}]`));
}

function mostImages(model: Model): number {
	if (model.status === "adhoc") return MAX_IMAGES;
	const { maxImages = 0, imageFields } = inputFamily(model).image ?? {};
	const accepts = !imageFields || (model.inputFields?.some((field) => imageFields.includes(field)) ?? true);
	return accepts ? maxImages : 0;
}

const reader: Reader = {
	schema: () => Form,
	body: { field: "multipart", as: "wrapped" },
	read({ multipart: { body: form } }: { multipart: WrappedForm }, model) {
		const { prompt, n, size, response_format, output_format, stream, ...fields } = fieldsOf(form);
		const format = formatOf({ n, response_format, output_format, stream: stream === "true" });
		if (form.parts.some(({ name }) => name === "mask"))
			throw refused("'/mask' must be absent: the models here do not mask by transparency");
		return paint(
			{
				prompt,
				format,
				images: imagesOf(form, model),
				...present(fields),
				...sidesOf(size, model),
			},
			model,
		);
	},
};

export const openaiImageEdit: Dialect = { reader, writer: imagesWriter };
