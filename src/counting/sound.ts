/**
 * Audio in chats and decisions, as tallies count it. Headers are only used if the caller declares the same format, because an engine
 * follows one of both.
 */
import { decodeBase64, splitDataUrl } from "../media/base64.ts";
import { knownType, mediaTypeOf } from "../media/types.ts";
import { readFrames } from "./frame-duration.ts";
import { beginningOf, bytesOfBase64 } from "./images.ts";
import { readWav } from "./samples.ts";

export interface Sound {
	kind: "samples" | "compressed";
	/** The size of the file. */
	bytes: number;
	/** Absent: the file does not show it. */
	seconds?: number | undefined;
	/** No engine plays the file for longer. Absent: the file does not show it. */
	maxSeconds?: number | undefined;
}

/** Base64, and its format as the caller declares it: `wav`, `mp3`, `pcm16`, … */
export interface SentAudio {
	data: string;
	format: string;
}

/** A call is tallied several times: for its estimate, its bill, and the check of its engine's counts. */
const sounds = new WeakMap<SentAudio, Sound>();
const soundLists = new WeakMap<readonly string[], readonly Sound[]>();

export function soundOf(audio: SentAudio): Sound {
	const sound = sounds.get(audio) ?? readSound(audio.data, `audio/${audio.format}`);
	sounds.set(audio, sound);
	return sound;
}

/** Of data URLs. */
export function soundsOf(urls: readonly string[]): readonly Sound[] {
	const list =
		soundLists.get(urls) ?? urls.map((url) => readSound(url, splitDataUrl(url)?.contentType ?? ""));
	soundLists.set(urls, list);
	return list;
}

const RAW_TYPES = new Set(["audio/pcm", "audio/pcm16"]);

function readSound(text: string, contentType: string): Sound {
	const bytes = bytesOfBase64(text);
	if (RAW_TYPES.has(contentType)) return { kind: "samples", bytes };
	const base64 = splitDataUrl(text)?.base64 ?? text;
	const head = beginningOf(base64) ?? decodeBase64(base64) ?? new Uint8Array();
	const [declared, type] = [knownType(contentType), mediaTypeOf(head)];
	if (declared !== type) {
		const isSamples = declared === "audio/wav" && type === undefined;
		return { kind: isSamples ? "samples" : "compressed", bytes };
	}
	if (type === "audio/wav") return wavSound(base64, head, bytes);
	return { kind: "compressed", bytes, ...(FRAMED.has(type ?? "") && framedDurations(base64)) };
}

/** Types of files that are read frame by frame. Other files declare a duration, which may be false: an engine plays the file to its end. */
const FRAMED = new Set(["audio/mpeg", "audio/aac"]);
/** MP3 at 320 kbit/s. Frames that cannot be read count as such. */
const MAX_FRAMED_BYTES_PER_SECOND = 40_000;

function framedDurations(base64: string): Pick<Sound, "seconds" | "maxSeconds"> | undefined {
	const bytes = decodeBase64(base64);
	const frames = bytes && readFrames(bytes);
	if (!frames) return undefined;
	const shortest = bytes.length / MAX_FRAMED_BYTES_PER_SECOND;
	const seconds = Math.max(frames.seconds, shortest);
	// Decoders that do not skip a tag also play the frames in it.
	const maxSeconds = Math.max(frames.seconds + frames.secondsInTag, shortest);
	return { seconds, ...(frames.areComplete && { maxSeconds }) };
}

/** Decoders may find the blocks of a compressed format elsewhere. */
function wavSound(base64: string, head: Uint8Array, bytes: number): Sound {
	const wav = readWav(head, bytes) ?? readWav(decodeBase64(base64) ?? head);
	if (!wav) return { kind: "samples", bytes };
	if (!wav.isFixedWidth || !wav.bytesPerSecond) return { kind: "compressed", bytes };
	return {
		kind: "samples",
		bytes,
		seconds: wav.dataBytes / wav.bytesPerSecond,
		// Decoders may find the later chunks elsewhere.
		...(!wav.isPartlyValid && { maxSeconds: wav.bytesFromData / wav.bytesPerSecond }),
	};
}
