/** Pictures that were made and looked at, and how large they are, by their headers. Nothing is decoded. */
import { decodeBase64, splitDataUrl } from "../media/base64.ts";
import { imageSizeOf } from "../media/image-size.ts";
import type { Model } from "../models/model.ts";
import type { Quantities, Size } from "../models/neurons.ts";
import type { ImageInput } from "../tasks/images.ts";
import type { Media } from "../tasks/media.ts";

/** A picture whose header cannot be read. */
const USUAL_SIZE: Size = { width: 1024, height: 1024 };
/** Of diffusion, where neither caller nor catalogue says: as many as the models that have a default have at most. */
const USUAL_STEPS = 25;

/** As large as was asked: engines round to their own blocks. */
export const painted = (
	{ width, height, steps, images, mask }: ImageInput,
	{ defaults }: Model,
): Quantities => ({
	outputImages: [{ width, height }],
	inputImages: [...images, ...(mask ? [mask] : [])].map(usualSizeOf),
	steps: steps ?? count(defaults.num_steps) ?? count(defaults.steps) ?? USUAL_STEPS,
});

export const seen = (image: Media): Quantities => ({ inputImages: [usualSizeOf(image)] });

const usualSizeOf = ({ bytes }: Media): Size => imageSizeOf(bytes) ?? USUAL_SIZE;

const count = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);

/** The size stands in the first bytes of most formats; a photograph has its camera's notes and its colours first. */
const HEAD_BYTES = 48 * 1024;
const BASE64_OF_THREE_BYTES = 4;
const HEAD_CHARACTERS = (HEAD_BYTES / 3) * BASE64_OF_THREE_BYTES;

/** Of a picture in a data URL. `undefined` also for one that is elsewhere. */
export function sizeOfUrl(url: string): Size | undefined {
	const base64 = splitDataUrl(url.slice(0, HEAD_CHARACTERS))?.base64;
	if (base64 === undefined) return undefined;
	const whole = base64.length - (base64.length % BASE64_OF_THREE_BYTES);
	const bytes = decodeBase64(base64.slice(0, whole));
	return bytes && imageSizeOf(bytes);
}

/** Bytes of what a data URL, or bare base64, holds; none for an address. */
export function bytesOfBase64(text: string): number {
	if (/^https?:/i.test(text)) return 0;
	const start = text.startsWith("data:") ? text.indexOf(",") + 1 : 0;
	const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
	return Math.floor(((text.length - start) * 3) / BASE64_OF_THREE_BYTES) - padding;
}
