/**
 * Streams of `/images/generations` and `/images/edits` (https://platform.openai.com/docs/api-reference/images-streaming): the unfinished images that
 * the engine sends, and the complete one. Most engines send none, and OpenAI may send fewer than `partial_images`, too.
 *
 * Difference from OpenAI: `usage` is absent if the engine counts no tokens.
 */
import { toAiError } from "../../core/errors.ts";
import { present } from "../../core/present.ts";
import { encodeBase64 } from "../../media/base64.ts";
import { imageSizeOf } from "../../media/image-size.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";
import { namedFrame } from "../../streams/sse.ts";
import type { StreamedOutput, TaskAnswer } from "../../tasks/task.ts";
import type { ImageInput, ImageOutput } from "../../tasks/text-to-image/index.ts";
import { errorFrame } from "../chat/errors.ts";
import type { WriteContext } from "../dialect.ts";
import { outputValue } from "../output-value.ts";

export type ImageOperation = "image_generation" | "image_edit";

/** Takes over the answer. */
export function imageEvents(
	answer: TaskAnswer,
	operation: ImageOperation,
	{ call, now }: Pick<WriteContext, "call" | "now">,
): ReadableStream<Uint8Array> {
	const { format, extensions = {} } = call.input as ImageInput;
	const encoder = new TextEncoder();
	let partialImages = 0;
	let over = false;
	const eventOf = ({ output, isComplete }: StreamedOutput<ImageOutput>): string => {
		const { bytes, quality, background, tokens: usage } = output;
		const size = imageSizeOf(bytes);
		const type = `${operation}.${isComplete ? "completed" : "partial_image"}`;
		return namedFrame(type, {
			type,
			b64_json: encodeBase64(bytes),
			created_at: Math.floor(now / 1000),
			size: size ? `${size.width}x${size.height}` : "auto",
			quality: quality ?? extensions.quality ?? "auto",
			background: background ?? extensions.background ?? "auto",
			output_format: format,
			...(isComplete ? present({ usage }) : { partial_image_index: partialImages++ }),
		});
	};
	const outputs = outputsOf(answer);
	return new PulledStream<Uint8Array>({
		async pull() {
			if (over) return undefined;
			try {
				const sent = await outputs.pull();
				return sent && encoder.encode(eventOf(sent));
			} catch (error) {
				over = true;
				return encoder.encode(errorFrame(toAiError(error)));
			}
		},
		cancel: (reason) => outputs.cancel(reason),
	});
}

function outputsOf(answer: TaskAnswer) {
	if (answer.task === "text-to-image" && answer.answer.kind === "outputs")
		return PulledStream.sourceOf(answer.answer.outputs);
	const unsent = [{ output: outputValue("text-to-image", answer), isComplete: true }];
	return { pull: async () => unsent.shift(), cancel: async () => {} };
}
