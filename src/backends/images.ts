/** Image files in the formats of upstreams. */
import { undecodableImage } from "../core/undecodable-image.ts";
import type { Usage } from "../core/usage.ts";
import { dataUrl, decodeBase64 } from "../media/base64.ts";
import { imageSizeOf, type PixelSize } from "../media/image-size.ts";
import type { Media } from "../media/media.ts";
import { extensionOf, mediaTypeOf, typeOf } from "../media/types.ts";
import type { DescribeImageOutput } from "../tasks/image-to-text/index.ts";
import type { ContentPart } from "../tasks/text-generation/types.ts";
import { type Call, failureOfContent } from "./transport/upstream-failure.ts";

export const imageTypeOf = (image: Media): string => typeOf(image) ?? image.contentType ?? "image/png";

export const imageUrl = (image: Media): string => dataUrl(image.bytes, imageTypeOf(image));

export const imagePart = (image: Media): ContentPart => ({
	type: "image_url",
	image_url: { url: imageUrl(image) },
});

/** A request for the description of an image, as the content of a message. */
export const captionPrompt = (image: Media, prompt = "Generate a caption for this image"): ContentPart[] => [
	{ type: "text", text: prompt },
	imagePart(image),
];

/** The description of an image, from a text without surrounding white space. */
export function describedBy(
	text: string | null | undefined,
	usage: Usage | null | undefined,
	call: Call,
): DescribeImageOutput {
	const description = text?.trim();
	if (!description) throw failureOfContent(call, "answered with no text");
	return { description, ...(usage && { usage }) };
}

/** A file of a form. `name` has no extension. */
export const imageFile = (image: Media, name: string): File =>
	new File([image.bytes], `${name}.${extensionOf(imageTypeOf(image)) ?? "png"}`, {
		type: imageTypeOf(image),
	});

/** The image of a reply. `undefined` if it is not base64 of an image. */
export function imageIn(base64: string): Media | undefined {
	const bytes = decodeBase64(base64);
	const contentType = bytes && mediaTypeOf(bytes);
	return bytes && contentType?.startsWith("image/") ? { bytes, contentType } : undefined;
}

/** Refuses a file whose size cannot be read. */
export function readableSizeOf({ bytes }: Media): PixelSize {
	const size = imageSizeOf(bytes);
	if (!size) throw undecodableImage();
	return size;
}
