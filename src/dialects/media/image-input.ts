/** The task input of all image dialects: sizes, defaults, the format of the answer. */
import { present } from "../../core/present.ts";
import { imageSizeOf } from "../../media/image-size.ts";
import type { Media } from "../../media/media.ts";
import type { ImageTraits } from "../../models/families.ts";
import { inputFamily, outputFamily } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { TaskCall } from "../../tasks/task.ts";
import type { ImageInput } from "../../tasks/text-to-image/index.ts";

type SizeRange = NonNullable<ImageTraits["sides"]>;

const FULL_RANGE: SizeRange = { min: 256, max: 2048 };

export const sizeRange = (model: Pick<Model, "input">): SizeRange =>
	inputFamily(model).image?.sides ?? FULL_RANGE;

/** The size if neither the caller nor the catalogue has one. */
const DEFAULT_SIDE = 1024;
/** Diffusion models process blocks of this many pixels. */
const BLOCK = 8;

/** The caller's fields. The model determines the other fields. */
type ImageFields = Partial<Omit<ImageInput, "prompt">> & Pick<ImageInput, "prompt">;

/** If the size is absent or 0, the catalogue's size applies, otherwise the size of the first input image. */
export function imageCall(fields: ImageFields, model: Model): TaskCall<"text-to-image"> {
	const { prompt, width, height, images = [], format, ...options } = fields;
	const { defaults } = model;
	const fallback = images[0] ? startingSize(images[0], model) : { width: DEFAULT_SIDE, height: DEFAULT_SIDE };
	return {
		task: "text-to-image",
		input: {
			prompt,
			width: width || count(defaults.width) || fallback.width,
			height: height || count(defaults.height) || fallback.height,
			images,
			...present({
				steps: count(defaults.num_steps) ?? count(defaults.steps),
				guidance: count(defaults.guidance),
				...present(options),
			}),
			// Answers in JSON contain JPEG data (observed). Raw answers have a content type.
			format: format ?? outputFamily(model).imageFile ?? "jpeg",
		},
	};
}

const count = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);

function startingSize({ bytes }: Media, model: Model): { width: number; height: number } {
	const { min, max } = sizeRange(model);
	const clamp = (side: number): number => Math.min(max, Math.max(min, Math.round(side / BLOCK) * BLOCK));
	const size = imageSizeOf(bytes);
	return { width: clamp(size?.width ?? DEFAULT_SIDE), height: clamp(size?.height ?? DEFAULT_SIDE) };
}
