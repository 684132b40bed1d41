/** Images, audio and videos of a decision: embedded, within the product's limits. */
import * as z from "zod";
import { dataUrl } from "../../media/base64.ts";
import { imageSizeOf } from "../../media/image-size.ts";
import { mayBeAudio, mediaTypeOf } from "../../media/types.ts";
import type { DecisionInput } from "../../tasks/decision/types.ts";
import { badInput } from "../invalid-input.ts";
import { type Bytes, decodeBase64, decodeDataUri } from "../media/media.ts";

export const MAX_IMAGES = 4;
export const MAX_CLIPS = 4;
export const MAX_VIDEOS = 2;
const MIB = 1024 * 1024;
const IMAGE_BYTES = 4 * MIB;
const IMAGE_PIXELS = 16_000_000;
const ALL_IMAGES_BYTES = 8 * MIB;
const CLIP_BYTES = 8 * MIB;
const VIDEO_BYTES = 16 * MIB;
const ALL_CLIPS_BYTES = 16 * MIB;
const IMAGE_TYPES = ["image/png", "image/jpeg", "image/webp"];

const Embedded = z.object({ content_type: z.string(), base64: z.string() });
export const Image = z.union([z.string().regex(/^[Dd][Aa][Tt][Aa]:/), Embedded]);
export const Clip = {
	audio: z.union([z.string().regex(/^data:audio\//), Embedded]),
	video: z.union([z.string().regex(/^data:video\//), Embedded]),
};
type Sent = z.output<typeof Image>;

interface SentMedia {
	images?: Sent[];
	audio?: Sent[];
	videos?: Sent[];
}

/** `imageAt`: the JSON pointer to an image in the request. */
export function checkMedia(
	{ images = [], audio = [], videos = [] }: SentMedia,
	imageAt = (index: number): string => `/images/${index}`,
): Pick<DecisionInput, "images" | "audio" | "videos"> {
	const checkedImages = images.map((image, i) => checkImage(image, imageAt(i)));
	const checkedAudio = audio.map((clip, i) => checkClip(clip, `/audio/${i}`, "audio"));
	const checkedVideos = videos.map((video, i) => checkClip(video, `/videos/${i}`, "video"));
	limit("/images", total(checkedImages), ALL_IMAGES_BYTES, "bytes in all");
	limit("/audio' and '/videos", total([...checkedAudio, ...checkedVideos]), ALL_CLIPS_BYTES, "bytes in all");
	const urls = (media: Checked[]): string[] => media.map(({ url }) => url);
	return { images: urls(checkedImages), audio: urls(checkedAudio), videos: urls(checkedVideos) };
}

interface Checked {
	bytes: number;
	/** A data URL. */
	url: string;
}

const total = (media: Checked[]): number => media.reduce((sum, { bytes }) => sum + bytes, 0);

function checkImage(sent: Sent, pointer: string): Checked {
	const { type, bytes } = decode(sent, pointer);
	if (!IMAGE_TYPES.includes(type)) refuse(pointer, "must be image/png, image/jpeg or image/webp");
	limit(pointer, bytes.length, IMAGE_BYTES, "bytes");
	const actual = mediaTypeOf(bytes);
	const size = actual && IMAGE_TYPES.includes(actual) ? imageSizeOf(bytes) : undefined;
	if (!actual || !size) refuse(pointer, "image payload is invalid");
	limit(pointer, size.width * size.height, IMAGE_PIXELS, "pixels");
	// Engines refuse an image whose declared type is wrong.
	return { bytes: bytes.length, url: sentUrl(sent, actual, type, bytes) };
}

function checkClip(sent: Sent, pointer: string, kind: "audio" | "video"): Checked {
	const { type, bytes } = decode(sent, pointer);
	if (!type.startsWith(`${kind}/`)) refuse(pointer, `must be of a type ${kind}/*`);
	limit(pointer, bytes.length, kind === "audio" ? CLIP_BYTES : VIDEO_BYTES, "bytes");
	// The type of a video may be unknown here.
	const plausible = kind === "audio" ? mayBeAudio(bytes) : !mediaTypeOf(bytes)?.startsWith("image/");
	if (bytes.length === 0 || !plausible) refuse(pointer, `${kind} payload is invalid`);
	return { bytes: bytes.length, url: sentUrl(sent, type, type, bytes) };
}

function decode(sent: Sent, pointer: string): { type: string; bytes: Bytes } {
	const embedded = () => {
		try {
			if (typeof sent === "string") return decodeDataUri(sent);
			return { body: decodeBase64(sent.base64), contentType: sent.content_type.trim().toLowerCase() };
		} catch {
			return refuse(pointer, "is not base64");
		}
	};
	const { body, contentType } = embedded() ?? refuse(pointer, "must be a base64 data URL");
	return { type: contentType, bytes: body };
}

/** The caller's own text if it already is a data URL with this type. */
const sentUrl = (sent: Sent, type: string, sentType: string, bytes: Bytes): string =>
	typeof sent === "string" && type === sentType ? sent : dataUrl(bytes, type);

function limit(pointer: string, value: number, max: number, unit: string): void {
	if (value > max) refuse(pointer, `must be <= ${max} ${unit}`);
}

function refuse(pointer: string, reason: string): never {
	throw badInput(`'${pointer}' ${reason}`);
}
