/** Images, sound and videos that come with a decision's state: embedded, and within the product's limits. */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { imageSizeOf } from "../../media/image-size.ts";
import { maySound, mediaTypeOf } from "../../media/types.ts";
import type { DecisionInput } from "../../tasks/decision/types.ts";
import { type Bytes, decodeBase64, decodeDataUri, encodeBase64 } from "../media/media.ts";

export const MOST_IMAGES = 4;
export const MOST_CLIPS = 4;
export const MOST_VIDEOS = 2;
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

export function checkMedia({
	images = [],
	audio = [],
	videos = [],
}: SentMedia): Pick<DecisionInput, "images" | "audio" | "videos"> {
	const checkedImages = images.map((image, i) => checkImage(image, `/images/${i}`));
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

function checkImage(sent: Sent, where: string): Checked {
	const { type, bytes } = decode(sent, where);
	if (!IMAGE_TYPES.includes(type)) refuse(where, "must be image/png, image/jpeg or image/webp");
	limit(where, bytes.length, IMAGE_BYTES, "bytes");
	const actual = mediaTypeOf(bytes);
	const size = actual && IMAGE_TYPES.includes(actual) ? imageSizeOf(bytes) : undefined;
	if (!actual || !size) refuse(where, "image payload is invalid");
	limit(where, size.width * size.height, IMAGE_PIXELS, "pixels");
	// Engines refuse an image that is of another type than they are told.
	return { bytes: bytes.length, url: dataUrl(sent, actual, type, bytes) };
}

function checkClip(sent: Sent, where: string, kind: "audio" | "video"): Checked {
	const { type, bytes } = decode(sent, where);
	if (!type.startsWith(`${kind}/`)) refuse(where, `must be of a type ${kind}/*`);
	limit(where, bytes.length, kind === "audio" ? CLIP_BYTES : VIDEO_BYTES, "bytes");
	// A video may be in a container that we do not know.
	const plausible = kind === "audio" ? maySound(bytes) : !mediaTypeOf(bytes)?.startsWith("image/");
	if (bytes.length === 0 || !plausible) refuse(where, `${kind} payload is invalid`);
	return { bytes: bytes.length, url: dataUrl(sent, type, type, bytes) };
}

function decode(sent: Sent, where: string): { type: string; bytes: Bytes } {
	const embedded = () => {
		try {
			if (typeof sent === "string") return decodeDataUri(sent);
			return { body: decodeBase64(sent.base64), contentType: sent.content_type.trim().toLowerCase() };
		} catch {
			return refuse(where, "is not base64");
		}
	};
	const { body, contentType } = embedded() ?? refuse(where, "must be a base64 data URL");
	return { type: contentType, bytes: body };
}

/** The caller's own text where it already is such a URL. */
const dataUrl = (sent: Sent, type: string, sentType: string, bytes: Bytes): string =>
	typeof sent === "string" && type === sentType ? sent : `data:${type};base64,${encodeBase64(bytes)}`;

function limit(where: string, value: number, most: number, unit: string): void {
	if (value > most) refuse(where, `must be <= ${most} ${unit}`);
}

function refuse(where: string, why: string): never {
	throw new AiError("badInput", `Error: '${where}' ${why}`);
}
