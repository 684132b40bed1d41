/** Tasks about an image, as a chat with the image (`prompted.ts`). */
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
import { Percent, promptForJson, promptForText, shares } from "./prompted.ts";

const DEFAULT_PROMPT = "Generate a caption for this image";
/** The number of labels of the catalogue's classifier. */
const MAX_LABELS = 5;
/** Coordinates are requested in thousandths of the image: vision models are trained on them. */
const FULL_SCALE = 1000;

const imagePart = (image: Media): ContentPart => ({
	type: "image_url",
	image_url: { url: dataUrl(image.bytes, typeOf(image) ?? image.contentType ?? "image/png") },
});

/** `raw` has no meaning: the engine applies the chat template. */
export async function describeImage(
	{ image, prompt, raw: _, ...sampling }: DescribeImageInput,
	call: Call,
): Promise<Answer<"image-to-text">> {
	const content: ContentPart[] = [{ type: "text", text: prompt ?? DEFAULT_PROMPT }, imagePart(image)];
	const { value: description, usage } = await promptForText({ instruction: "", content, ...sampling }, call);
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
	const { value } = await promptForJson(
		Labels,
		{
			instruction: `Name what the image shows, as ImageNet names its classes: up to ${MAX_LABELS} labels, the likeliest first, and how likely each is in percent.`,
			content: [imagePart(image)],
		},
		call,
	);
	const scores = shares(value.labels.map(({ percent }) => percent));
	if (!scores) throw failureOfContent(call, "answered with something that is not a classification");
	const labels = value.labels.map(({ label }, index) => ({ label, score: scores[index] ?? 0 }));
	return { kind: "value", output: { labels: labels.sort((a, b) => b.score - a.score) } };
}

const Coordinate = z.int().min(0).max(FULL_SCALE);
const Objects = z.strictObject({
	objects: z.array(
		z.strictObject({
			label: z.string().min(1),
			percent: Percent,
			xmin: Coordinate,
			ymin: Coordinate,
			xmax: Coordinate,
			ymax: Coordinate,
		}),
	),
});

export async function detectObjects(
	{ image, target, max_objects }: DetectObjectsInput,
	call: Call,
): Promise<Answer<"object-detection">> {
	const { width, height } = sizeOf(image);
	const subject = target === undefined ? "every object" : `every ${target}`;
	const { value } = await promptForJson(
		Objects,
		{
			instruction: `Find ${subject} in the image. For each: its label, how sure you are in percent, and its box in thousandths of the image's width and height, from its left upper corner.`,
			content: [imagePart(image)],
		},
		call,
	);
	const x = (thousandths: number) => (thousandths / FULL_SCALE) * width;
	const y = (thousandths: number) => (thousandths / FULL_SCALE) * height;
	const objects = value.objects
		// A box without an area contains nothing.
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
