/**
 * Computes the duration of MP3 and AAC (ADTS) files by adding up their frames. ISO/IEC 11172-3 (2.4.2.3), ISO/IEC 13818-3
 * (2.4.2.3), ISO/IEC 14496-3 (1.A.2.2).
 */
import { frameTypeAt, hasTextAt } from "../media/types.ts";

/** More than an hour of audio. The duration of a longer file is extrapolated. */
const MAX_FRAMES = 200_000;

interface Frame {
	type: string;
	bytes: number;
	seconds: number;
}

interface Frames {
	seconds: number;
	/** Of frames inside of a tag at the beginning, whose size may be false. A cover may have bytes that look like frames. */
	secondsInTag: number;
	/** There is nothing between the frames, which have one type. */
	areComplete: boolean;
}

/** `undefined` if there are no frames. */
export const framesSeconds = (bytes: Uint8Array): number | undefined => readFrames(bytes)?.seconds;

/** `undefined` if there are no frames. */
export function readFrames(bytes: Uint8Array): Frames | undefined {
	const tagBytes = Math.min(tagBytesOf(bytes), bytes.length);
	const start = afterInfo(bytes, tagBytes);
	const end = hasTextAt(bytes, bytes.length - END_TAG_BYTES, "TAG")
		? bytes.length - END_TAG_BYTES
		: bytes.length;
	const type = frameTypeAt(bytes, start);
	let areComplete = true;
	const { at, seconds } = walk(bytes, start, (frame, at) => {
		areComplete &&= (frame !== undefined && frame.type === type) || at >= end;
	});
	if (seconds === 0) return undefined;
	const inTag = walk(bytes.subarray(0, tagBytes), 0);
	areComplete &&= at >= bytes.length && inTag.at >= tagBytes;
	return {
		seconds: at < bytes.length ? (seconds * (bytes.length - start)) / (at - start) : seconds,
		secondsInTag: inTag.seconds,
		areComplete,
	};
}

/** Adds up frames. `visit`: called with each frame, and with each place between frames. `at`: the first byte that was not read. */
function walk(
	bytes: Uint8Array,
	start: number,
	visit?: (frame: Frame | undefined, at: number) => void,
): { at: number; seconds: number } {
	let seconds = 0;
	let at = start;
	// Bytes between frames count as frames: a file may consist of them.
	for (let read = 0; read < MAX_FRAMES && at < bytes.length; read++) {
		const frame = frameAt(bytes, at);
		if (frame) seconds += frame.seconds;
		visit?.(frame, at);
		const next = frame ? at + frame.bytes : bytes.indexOf(0xff, at + 1);
		at = next < 0 ? bytes.length : next;
	}
	return { at, seconds };
}

/** ID3v1, at the end of a file. */
const END_TAG_BYTES = 128;

/** ID3v2: its size has seven bits in each byte. Decoders take other bytes for no tag. */
function tagBytesOf(bytes: Uint8Array): number {
	const size = bytes.subarray(6, 10);
	if (!hasTextAt(bytes, 0, "ID3") || size.length < 4 || size.some((byte) => byte > 0x7f)) return 0;
	return 10 + size.reduce((sum, byte) => sum * 128 + byte, 0);
}

/** Side information has these lengths: one or two channels, MPEG 1 or 2. The mark of an encoder's own frame follows it. */
const INFO_OFFSETS = [13, 21, 36];

/** The first frame of an MP3 file may have facts about the file (`Xing`, `Info`) and no audio. */
function afterInfo(bytes: Uint8Array, at: number): number {
	const hasMark = INFO_OFFSETS.some((offset) =>
		["Xing", "Info"].some((mark) => hasTextAt(bytes, at + offset, mark)),
	);
	return hasMark ? at + (frameAt(bytes, at)?.bytes ?? 0) : at;
}

function frameAt(bytes: Uint8Array, at: number): Frame | undefined {
	const type = frameTypeAt(bytes, at);
	const frame =
		type === "audio/mpeg" ? mpegFrame(bytes, at) : type === "audio/aac" ? adtsFrame(bytes, at) : undefined;
	return type && frame && frame.bytes > 0 && Number.isFinite(frame.seconds) ? { type, ...frame } : undefined;
}

/** Thousands of bits per second, by the header's index. */
const MPEG_RATES = {
	layer2: [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
	layer3: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
	/** MPEG 2 and 2.5, both layers. */
	low: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
};
const MPEG_SAMPLES_PER_SECOND = [44_100, 48_000, 32_000];

function mpegFrame(bytes: Uint8Array, at: number): Omit<Frame, "type"> {
	const [second, third] = [byteAt(bytes, at + 1), byteAt(bytes, at + 2)];
	/** 3 is MPEG 1, 2 is MPEG 2, and 0 is MPEG 2.5. */
	const version = (second >> 3) & 3;
	const isLayer3 = ((second >> 1) & 3) === 1;
	const rates = version !== 3 ? MPEG_RATES.low : isLayer3 ? MPEG_RATES.layer3 : MPEG_RATES.layer2;
	const bitsPerSecond = (rates[third >> 4] ?? 0) * 1_000;
	const samplesPerSecond =
		(MPEG_SAMPLES_PER_SECOND[(third >> 2) & 3] ?? 0) / (version === 3 ? 1 : version === 2 ? 2 : 4);
	const seconds = (isLayer3 && version !== 3 ? 576 : 1_152) / samplesPerSecond;
	const padding = (third >> 1) & 1;
	return { bytes: bitsPerSecond > 0 ? Math.floor((seconds * bitsPerSecond) / 8) + padding : 0, seconds };
}

const ADTS_SAMPLES_PER_SECOND = [
	96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];
const ADTS_HEAD_BYTES = 7;

function adtsFrame(bytes: Uint8Array, at: number): Omit<Frame, "type"> | undefined {
	if (at + ADTS_HEAD_BYTES > bytes.length) return undefined;
	const fourth = byteAt(bytes, at + 3);
	const length = ((fourth & 3) << 11) | (byteAt(bytes, at + 4) << 3) | (byteAt(bytes, at + 5) >> 5);
	const samplesPerSecond = ADTS_SAMPLES_PER_SECOND[(byteAt(bytes, at + 2) >> 2) & 0xf] ?? 0;
	const blocks = (byteAt(bytes, at + 6) & 3) + 1;
	return length < ADTS_HEAD_BYTES
		? undefined
		: { bytes: length, seconds: (1_024 * blocks) / samplesPerSecond };
}

const byteAt = (bytes: Uint8Array, at: number): number => bytes[at] ?? 0;
