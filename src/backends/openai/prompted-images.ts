/** Tasks about an image, asked as a chat with a picture in it (`prompted.ts`). */
import * as z from "zod";
import { undecodableImage } from "../../core/undecodable-image.ts";
import { dataUrl } from "../../media/base64.ts";
import { imageSizeOf } from "../../media/image-size.ts";
import type { Media } from "../../media/media.ts";
import { typeOf } from "../../media/types.ts";
import type { ClassifyImageInput } from "../../tasks/image-classification/types.ts";
import type { DescribeImageInput } from "../../tasks/image-to-text/types.ts";
import type { DetectObjectsInput } from "../../tasks/object-detection/types.ts";
import type { Answer } from "../../tasks/task.ts";
import type { ContentPart } from "../../tasks/text-generation/types.ts";
import { type Call, failureOfContent } from "../transport/upstream-failure.ts";
import { askJson, askText, Percent, shares } from "./prompted.ts";

const USUAL_PROMPT = "Generate a caption for this image";
/** As many as the catalogue's classifier answers with. */
const MAX_LABELS = 5;
/** Places are asked for in thousandths of the image, which vision models are trained on. */
const FULL_SCALE = 1000;

const picture = (image: Media): ContentPart => ({
	type: "image_url",
	image_url: { url: dataUrl(image.bytes, typeOf(image) ?? image.contentType ?? "image/png") },
});

/** `raw` has no meaning where the engine writes the template. */
export async function describeImage(
	{ image, prompt, raw: _, ...sampling }: DescribeImageInput,
	call: Call,
): Promise<Answer<"image-to-text">> {
	const content: ContentPart[] = [{ type: "text", text: prompt ?? USUAL_PROMPT }, picture(image)];
	const { value: description, usage } = await askText({ instruction: "", content, ...sampling }, call);
	return { kind: "value", output: { description, usage } };
}

const Labels = z.strictObject({
	labels: z
		.array(z.strictObject({ label: z.string().min(1), percent: Percent }))
		.min(1)
		.max(MAX_LABELS),
});

export async function classifyImage(
	{ image }: ClassifyImageInput,
	call: Call,
): Promise<Answer<"image-classification">> {
	const { value } = await askJson(
		Labels,
		{
			instruction: `Name what the image shows, as ImageNet names its classes: up to ${MAX_LABELS} labels, the likeliest first, and how likely each is in percent.`,
			content: [picture(image)],
		},
		call,
	);
	const scores = shares(value.labels.map(({ percent }) => percent));
	if (!scores) throw failureOfContent(call, "answered with something that is not a classification");
	const labels = value.labels.map(({ label }, place) => ({ label, score: scores[place] ?? 0 }));
	return { kind: "value", output: { labels: labels.sort((a, b) => b.score - a.score) } };
}

const Place = z.int().min(0).max(FULL_SCALE);
const Objects = z.strictObject({
	objects: z.array(
		z.strictObject({
			label: z.string().min(1),
			percent: Percent,
			xmin: Place,
			ymin: Place,
			xmax: Place,
			ymax: Place,
		}),
	),
});

export async function detectObjects(
	{ image, target, max_objects }: DetectObjectsInput,
	call: Call,
): Promise<Answer<"object-detection">> {
	const { width, height } = sizeOf(image);
	const what = target === undefined ? "every object" : `every ${target}`;
	const { value } = await askJson(
		Objects,
		{
			instruction: `Find ${what} in the image. For each: its label, how sure you are in percent, and its box in thousandths of the image's width and height, from its left upper corner.`,
			content: [picture(image)],
		},
		call,
	);
	const x = (place: number) => (place / FULL_SCALE) * width;
	const y = (place: number) => (place / FULL_SCALE) * height;
	const objects = value.objects
		// A box without an area holds nothing.
		.filter(({ xmin, ymin, xmax, ymax }) => xmin < xmax && ymin < ymax)
		.map(({ label, percent, xmin, ymin, xmax, ymax }) => ({
			label,
			score: percent / 100,
			box: { xmin: x(xmin), ymin: y(ymin), xmax: x(xmax), ymax: y(ymax) },
		}))
		.sort((a, b) => b.score - a.score)
		.slice(0, max_objects);
	return { kind: "value", output: { objects, width, height } };
}

function sizeOf(image: Media): { width: number; height: number } {
	const size = imageSizeOf(image.bytes);
	if (!size) throw undecodableImage();
	return size;
}
