/**
 * Streams of `/images/generations` and `/images/edits` (https://platform.openai.com/docs/api-reference/images-streaming): one event with
 * the finished image. The engines here send no unfinished ones, and OpenAI may send fewer than `partial_images`, too.
 *
 * Difference from OpenAI: no `usage`, because images here have no tokens.
 */
import { encodeBase64 } from "../../media/base64.ts";
import { imageSizeOf } from "../../media/image-size.ts";
import type { Media } from "../../media/media.ts";
import { namedFrame } from "../../streams/sse.ts";
import type { ImageInput } from "../../tasks/text-to-image/index.ts";
import type { WriteContext } from "../dialect.ts";

export type ImageOperation = "image_generation" | "image_edit";

export function imageEvents(
	{ bytes }: Media,
	operation: ImageOperation,
	{ call, now }: Pick<WriteContext, "call" | "now">,
): ReadableStream<Uint8Array> {
	const { format, extensions = {} } = call.input as ImageInput;
	const size = imageSizeOf(bytes);
	const type = `${operation}.completed`;
	const event = {
		type,
		b64_json: encodeBase64(bytes),
		created_at: Math.floor(now / 1000),
		size: size ? `${size.width}x${size.height}` : "auto",
		quality: extensions.quality ?? "auto",
		background: extensions.background ?? "auto",
		output_format: format,
	};
	return new Blob([namedFrame(type, event)]).stream();
}
