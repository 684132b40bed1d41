/** Image inputs: description, classification, object detection. */

import * as z from "zod";
import type { Media } from "../../media/media.ts";
import { typeOf } from "../../media/types.ts";
import { inputFamily } from "../../models/family.ts";
import type { ClassifyImageInput } from "../../tasks/image-classification/types.ts";
import type { DescribeImageInput } from "../../tasks/image-to-text/types.ts";
import type { DetectObjectsInput } from "../../tasks/object-detection/types.ts";
import type { Answer } from "../../tasks/task.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { detectWithMoondream, readableSizeOf } from "./moondream.ts";
import { byteList, type Inputs, runJson, upstreamModel, value } from "./run.ts";
import { LabelsReply } from "./text.ts";

const DescriptionReply = z.looseObject({ description: z.string() });

export async function describeImage(
	{ image, ...fields }: DescribeImageInput,
	call: Call,
): Promise<Answer<"image-to-text">> {
	const { description } = await runJson(call, { image: byteList(image), ...fields }, DescriptionReply);
	return value({ description });
}

export async function classifyImage(
	{ image }: ClassifyImageInput,
	call: Call,
): Promise<Answer<"image-classification">> {
	const labels = await runJson(call, imageInputs(image, call), LabelsReply);
	return value({ labels: labels.map(({ label, score }) => ({ label, score })) });
}

const DetectionsReply = z.array(
	z.looseObject({
		label: z.string(),
		score: z.number(),
		box: z.looseObject({ xmin: z.number(), ymin: z.number(), xmax: z.number(), ymax: z.number() }),
	}),
);

/** The model has no input for the target; other objects are removed here. */
export async function detectObjects(
	input: DetectObjectsInput,
	call: Call,
): Promise<Answer<"object-detection">> {
	if (inputFamily(upstreamModel(call)).hasImageTasks) return detectWithMoondream(input, call);
	const { image, target, max_objects } = input;
	const { width, height } = readableSizeOf(image);
	const found = await runJson(call, imageInputs(image, call), DetectionsReply);
	const objects = found
		.filter(({ label }) => target === undefined || label.toLowerCase() === target.toLowerCase())
		.map(({ label, score, box: { xmin, ymin, xmax, ymax } }) => ({
			label,
			score,
			box: { xmin, ymin, xmax, ymax },
		}));
	return value({ objects: objects.slice(0, max_objects), width, height });
}

/** The body is the image. A binding sends JSON: a list of its bytes. */
function imageInputs(image: Media, { target }: Call): Inputs {
	if (target.binding) return { image: byteList(image) };
	const type = typeOf(image) ?? image.contentType ?? "application/octet-stream";
	return { file: new Blob([image.bytes], { type }), fields: {} };
}
