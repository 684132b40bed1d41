/** Image inputs: description, classification, object detection. */
import * as z from "zod";
import type { Media } from "../../media/media.ts";
import { typeOf } from "../../media/types.ts";
import { inputFamily } from "../../models/family.ts";
import type { Handler } from "../handler.ts";
import { readableSizeOf } from "../images.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { detectWithMoondream } from "./moondream.ts";
import { byteList, runJson, upstreamModel, type WorkersAiInputs } from "./run.ts";
import { LabelsReply } from "./text.ts";

const DescriptionReply = z.object({ description: z.string() });

export const describeImage: Handler<"image-to-text"> = async ({ image, ...fields }, call) =>
	runJson(call, { image: byteList(image), ...fields }, DescriptionReply);

export const classifyImage: Handler<"image-classification"> = async ({ image }, call) => ({
	labels: await runJson(call, imageInputs(image, call), LabelsReply),
});

const Box = z.object({ xmin: z.number(), ymin: z.number(), xmax: z.number(), ymax: z.number() });
const DetectionsReply = z.array(z.object({ label: z.string(), score: z.number(), box: Box }));

/** The model has no input for the target; other objects are removed here. */
export const detectObjects: Handler<"object-detection"> = async (input, call) => {
	if (inputFamily(upstreamModel(call)).hasImageTasks) return detectWithMoondream(input, call);
	const { image, target, max_objects } = input;
	const { width, height } = readableSizeOf(image);
	const found = await runJson(call, imageInputs(image, call), DetectionsReply);
	const objects = found.filter(
		({ label }) => target === undefined || label.toLowerCase() === target.toLowerCase(),
	);
	return { objects: objects.slice(0, max_objects), width, height };
};

/** The body is the image. A binding sends JSON: a list of its bytes. */
function imageInputs(image: Media, { target }: Call): WorkersAiInputs {
	if (target.binding) return { image: byteList(image) };
	const type = typeOf(image) ?? image.contentType ?? "application/octet-stream";
	return { file: new Blob([image.bytes], { type }), fields: {} };
}
