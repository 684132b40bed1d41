/** What every dialect that asks for an image fills in: sizes, defaults, the format of the answer. */

import { imageSizeOf } from "../../media/image-size.ts";
import type { Media } from "../../media/media.ts";
import { type ImageTraits, inputFamily, outputFamily } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { TaskCall } from "../../tasks/task.ts";
import type { ImageInput } from "../../tasks/text-to-image/types.ts";
import { present } from "../fields.ts";

type SizeRange = NonNullable<ImageTraits["sides"]>;

const FULL_RANGE: SizeRange = { min: 256, max: 2048 };

export const sizeRange = (model: Pick<Model, "input">): SizeRange =>
	inputFamily(model).image?.sides ?? FULL_RANGE;

/** Where neither caller nor catalogue names a size. */
const USUAL_SIDE = 1024;
/** Diffusion models work on blocks of so many pixels. */
const BLOCK = 8;

/** What a caller may ask for; the rest of an image's input follows from the model. */
type ImageFields = Partial<Omit<ImageInput, "prompt">> & Pick<ImageInput, "prompt">;

/** An absent size, or the zero that means the same, is the catalogue's, else that of the image to start from. */
export function paint(asked: ImageFields, model: Model): TaskCall<"text-to-image"> {
	const { prompt, width, height, images = [], format, ...rest } = asked;
	const { defaults } = model;
	const usual = images[0] ? startingSize(images[0], model) : { width: USUAL_SIDE, height: USUAL_SIDE };
	return {
		task: "text-to-image",
		input: {
			prompt,
			width: width || count(defaults.width) || usual.width,
			height: height || count(defaults.height) || usual.height,
			images,
			...present({
				steps: count(defaults.num_steps) ?? count(defaults.steps),
				guidance: count(defaults.guidance),
				...present(rest),
			}),
			// The answers in JSON hold JPEG data (observed); the raw ones say what they are.
			format: format ?? outputFamily(model).imageFile ?? "jpeg",
		},
	};
}

const count = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);

function startingSize({ bytes }: Media, model: Model): { width: number; height: number } {
	const { min, max } = sizeRange(model);
	const fitted = (side: number): number => Math.min(max, Math.max(min, Math.round(side / BLOCK) * BLOCK));
	const size = imageSizeOf(bytes);
	return { width: fitted(size?.width ?? USUAL_SIDE), height: fitted(size?.height ?? USUAL_SIDE) };
}
