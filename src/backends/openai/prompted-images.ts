/** Tasks about an image, as a chat with the image (`prompted.ts`). */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import type { Handler } from "../handler.ts";
import { captionPrompt, imagePart, readableSizeOf } from "../images.ts";
import { failureOfContent } from "../transport/upstream-failure.ts";
import { Percent, promptForJson, promptForText, shares } from "./prompted.ts";

/** The number of labels of the catalogue's classifier. */
const MAX_LABELS = 5;
/** Coordinates are requested in thousandths of the image: vision models are trained on them. */
const FULL_SCALE = 1000;

/** `raw` has no meaning: the engine applies the chat template. */
export const describeImage: Handler<"image-to-text"> = async (
	{ image, prompt, raw: _, ...sampling },
	call,
) => {
	const content = captionPrompt(image, prompt);
	const { value: description, usage } = await promptForText({ instruction: "", content, ...sampling }, call);
	return { description, usage };
};

const Label = lazy(() => z.strictObject({ label: z.string().min(1), percent: Percent() }));
const Labels = lazy(() => z.strictObject({ labels: z.array(Label()).min(1).max(MAX_LABELS) }));

export const classifyImage: Handler<"image-classification"> = async ({ image }, call) => {
	const instruction = `Name what the image shows, as ImageNet names its classes: up to ${MAX_LABELS} labels, the likeliest first, and how likely each is in percent.`;
	const { value } = await promptForJson(Labels(), { instruction, content: [imagePart(image)] }, call);
	const scores = shares(value.labels.map(({ percent }) => percent));
	if (!scores) throw failureOfContent(call, "answered with something that is not a classification");
	const labels = value.labels.map(({ label }, index) => ({ label, score: scores[index] ?? 0 }));
	return { labels: labels.sort((a, b) => b.score - a.score) };
};

const Coordinate = lazy(() => z.int().min(0).max(FULL_SCALE));
const Objects = lazy(() =>
	z.strictObject({
		objects: z.array(
			Label().extend({ xmin: Coordinate(), ymin: Coordinate(), xmax: Coordinate(), ymax: Coordinate() }),
		),
	}),
);

export const detectObjects: Handler<"object-detection"> = async ({ image, target, max_objects }, call) => {
	const { width, height } = readableSizeOf(image);
	const subject = target === undefined ? "every object" : `every ${target}`;
	const instruction = `Find ${subject} in the image. For each: its label, how sure you are in percent, and its box in thousandths of the image's width and height, from its left upper corner.`;
	const { value } = await promptForJson(Objects(), { instruction, content: [imagePart(image)] }, call);
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
	return { objects, width, height };
};
