/** Tasks with an image input: facts from the file header, and placeholders. No pixel is decoded. */
import type { ClassifyImageInput } from "../../../tasks/image-classification/index.ts";
import type { DescribeImageInput, DescribeImageOutput } from "../../../tasks/image-to-text/index.ts";
import type { DetectObjectsInput, DetectObjectsOutput } from "../../../tasks/object-detection/index.ts";
import type { LabelsOutput } from "../../../tasks/text-classification/index.ts";
import { tokenize } from "../tokens.ts";
import { measureImage } from "./measure-image.ts";

export async function describeImage({ image, max_tokens }: DescribeImageInput): Promise<DescribeImageOutput> {
	const { format, width, height } = measureImage(image.bytes);
	const text = `Simulated description of a ${format} image of ${width} by ${height} pixels: no model looked at it.`;
	return {
		description: tokenize(text)
			.slice(0, Math.max(1, max_tokens ?? Number.POSITIVE_INFINITY))
			.join(""),
	};
}

const LABELS = 5;

/** The same number of labels as ResNet, all with the same score. */
export async function classifyImage({ image }: ClassifyImageInput): Promise<LabelsOutput> {
	measureImage(image.bytes);
	const labels = Array.from({ length: LABELS }, (_, index) => ({
		label: `simulated label ${index + 1}`,
		score: 1 / LABELS,
	}));
	return { labels };
}

/** One box, always in the middle: half as wide and half as high as the image. */
export async function detectObjects({
	image,
	target,
	max_objects = 1,
}: DetectObjectsInput): Promise<DetectObjectsOutput> {
	const { width, height } = measureImage(image.bytes);
	const box = { xmin: width / 4, ymin: height / 4, xmax: (3 * width) / 4, ymax: (3 * height) / 4 };
	const object = { label: `simulated ${target ?? "object"}`, score: 0.5, box };
	return { objects: max_objects >= 1 ? [object] : [], width, height };
}
