import { parseBuffer } from "music-metadata";
import { describe, expect, it } from "vitest";
import { framesSeconds, readFrames } from "../../src/counting/frame-duration.ts";
import { concat } from "../../src/media/bytes.ts";

/** A frame of AAC. `rate`: 0 is 96 kHz, 4 is 44.1 kHz, 12 is 7,350 Hz. */
function adts({ length = 100, rate = 4, blocks = 1 } = {}): Uint8Array {
	const frame = new Uint8Array(length);
	frame.set([0xff, 0xf1, 0x40 | (rate << 2), 0x80 | (length >> 11), (length >> 3) & 0xff]);
	frame.set([((length & 7) << 5) | 0x1f, 0xfc | (blocks - 1)], 5);
	return frame;
}

const times = (count: number, frame: Uint8Array): Uint8Array<ArrayBuffer> =>
	concat(Array<Uint8Array>(count).fill(frame));

/** Header and length of a frame, from the formulas of the standards. */
function mpeg(second: number, third: number, length: number): Uint8Array<ArrayBuffer> {
	const frame = new Uint8Array(length);
	frame.set([0xff, second, third]);
	return frame;
}

describe("framesSeconds", () => {
	it.each([
		["MPEG 1 layer III, 128 kbit/s, 44.1 kHz", mpeg(0xfb, 0x90, 417), 1_152 / 44_100],
		["the same with padding", mpeg(0xfb, 0x92, 418), 1_152 / 44_100],
		["MPEG 1 layer III, 320 kbit/s, 48 kHz", mpeg(0xfb, 0xe4, 960), 1_152 / 48_000],
		["MPEG 1 layer II, 192 kbit/s, 32 kHz", mpeg(0xfd, 0xa8, 864), 1_152 / 32_000],
		["MPEG 2 layer III, 64 kbit/s, 22.05 kHz", mpeg(0xf3, 0x80, 208), 576 / 22_050],
		["MPEG 2 layer II, 160 kbit/s, 24 kHz", mpeg(0xf5, 0xe4, 960), 1_152 / 24_000],
		["MPEG 2.5 layer III, 8 kbit/s, 8 kHz", mpeg(0xe3, 0x18, 72), 576 / 8_000],
		["AAC, 44.1 kHz", adts(), 1_024 / 44_100],
		["AAC of 8 KB, 7,350 Hz", adts({ length: 8_191, rate: 12 }), 1_024 / 7_350],
		["AAC of four blocks, 96 kHz", adts({ rate: 0, blocks: 4 }), 4_096 / 96_000],
	])("%s", (_, frame, seconds) => {
		expect(framesSeconds(times(10, frame))).toBeCloseTo(10 * seconds, 9);
	});

	it("is the duration that the library finds in a file of changing rates", async () => {
		const bytes = times(500, concat([mpeg(0xfb, 0x10, 104), mpeg(0xfb, 0x90, 417)]));
		const { format } = await parseBuffer(bytes, undefined, { duration: true });
		expect(format.duration).toBeCloseTo(26.122, 3);
		expect(framesSeconds(bytes)).toBeCloseTo(26.122, 3);
	});

	it("skips a tag, a cover in it, and bytes between frames", () => {
		const cover = new Uint8Array(1_000).fill(0xff);
		const tag = Uint8Array.of(0x49, 0x44, 0x33, 3, 0, 0, 0, 0, 7, 104);
		const bytes = concat([tag, cover, times(5, adts()), new Uint8Array(128), times(5, adts()), tag]);
		expect(framesSeconds(bytes)).toBeCloseTo(10_240 / 44_100, 9);
	});

	it("reads 200,000 frames, and extrapolates the others by their bytes", () => {
		const shortest = times(200_000, adts({ length: 8, rate: 8 }));
		expect(framesSeconds(shortest)).toBeCloseTo(12_800, 3);
		const others = times(1_000, adts({ length: 1_600, rate: 0 }));
		expect(framesSeconds(concat([shortest, others]))).toBeCloseTo(25_600, 3);
	});

	it.each([
		["frames", times(5, adts()), true],
		[
			"a tag before them",
			concat([Uint8Array.of(0x49, 0x44, 0x33, 3, 0, 0, 0, 0, 0, 0), times(5, adts())]),
			true,
		],
		["a tag after them", concat([times(5, adts()), new TextEncoder().encode("TAG".padEnd(128))]), true],
		["the last one cut", times(5, adts()).subarray(0, -10), true],
		["bytes between them", concat([times(5, adts()), new Uint8Array(10), times(5, adts())]), false],
		["bytes before them", concat([new Uint8Array(10), times(5, adts())]), false],
		["bytes after them", concat([times(5, adts()), new Uint8Array(128)]), false],
		["frames of another type between them", concat([adts(), mpeg(0xfb, 0x90, 417), adts()]), false],
		["too many", times(200_001, adts({ length: 8 })), false],
	])("of a file with %s are complete, or not", (_, bytes, areComplete) => {
		expect(readFrames(bytes)).toMatchObject({ areComplete });
	});

	it("counts the frames in a tag for decoders that do not skip it", () => {
		const hidden = times(100, adts());
		// 10,000 bytes: 78 * 128 + 16.
		const tag = Uint8Array.of(0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 78, 16);
		const { areComplete, seconds, secondsInTag } = readFrames(concat([tag, hidden, times(5, adts())])) ?? {};
		expect(areComplete).toBe(true);
		expect(seconds).toBeCloseTo((5 * 1_024) / 44_100, 9);
		expect(secondsInTag).toBeCloseTo((100 * 1_024) / 44_100, 9);
	});

	it("takes a tag whose size has eight bits in a byte for none", () => {
		const tag = Uint8Array.of(0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 0x80 | 78, 16);
		const frames = readFrames(concat([tag, times(105, adts())]));
		expect(frames?.areComplete).toBe(false);
		expect(frames?.seconds).toBeCloseTo((105 * 1_024) / 44_100, 9);
	});

	it("counts bytes between frames as frames", () => {
		const noise = new Uint8Array(300_000).fill(0xff);
		expect(framesSeconds(concat([noise, times(100, adts())]))).toBeUndefined();
		expect(framesSeconds(concat([times(100, adts()), noise]))).toBeCloseTo(
			((102_400 / 44_100) * 310_000) / (10_000 + 199_900),
			9,
		);
	});

	it.each([
		["no bytes", new Uint8Array()],
		["text", new TextEncoder().encode("ID, no tag and no frame")],
		["a tag alone", Uint8Array.of(0x49, 0x44, 0x33, 3, 0, 0, 0, 0, 1, 0)],
		["a frame without a bit rate", mpeg(0xfb, 0x00, 100)],
		["a frame shorter than its header", adts({ length: 7 }).map((byte, i) => (i === 5 ? 0xdf : byte))],
		["a cut header", adts().subarray(0, 6)],
		["a reserved sample rate", adts({ rate: 13 })],
	])("undefined for %s", (_, bytes) => {
		expect(framesSeconds(bytes)).toBeUndefined();
	});
});
