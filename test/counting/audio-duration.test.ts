import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { secondsOf } from "../../src/counting/audio-duration.ts";
import { chunk, extensible, MP3_FRAME_SECONDS, mp3, wav, wavChunks } from "../tasks/parts.ts";
import { audioFile } from "./audio-files.ts";

const latin1 = (text: string): Uint8Array<ArrayBuffer> =>
	Uint8Array.from([...text].map((letter) => letter.charCodeAt(0)));

const MU_LAW = 7;
const GSM = 0x31;
const FLOAT = 3;
const inChunks = wavChunks(wav(2), chunk("junk", new Uint8Array(9)), chunk("data", new Uint8Array(31_998)));

describe("the duration of samples, synchronously", () => {
	it.each([
		["16 kHz, 16 bits", wav(32_000), 1],
		["two channels at 8 kHz, 8 bits", wav(8_000, { rate: 8_000, channels: 2, bits: 8 }), 0.5],
		["mu-law", wav(4_000, { rate: 8_000, bits: 8, format: MU_LAW }), 0.5],
		["a wrong byte rate", wav(32_000, { bytesPerSecond: 1_000_000 }), 1],
		[
			"GSM 6.10, whatever its rate in bytes",
			wav(3_250, { format: GSM, rate: 8_000, bytesPerSecond: 65_000, blockBytes: 65 }),
			2,
		],
		// 25 blocks of 256 bytes: 7 bytes of state with two samples, and two samples in each further byte.
		[
			"ADPCM of Microsoft",
			wav(6_400, { format: 2, bits: 4, rate: 10_000, bytesPerSecond: 1e6, blockBytes: 256 }),
			1.25,
		],
		// 20 blocks of 512 bytes for two channels: 4 bytes of state with a sample for each, and two samples in each further byte.
		[
			"ADPCM of IMA",
			wav(10_240, { format: 0x11, bits: 4, rate: 10_100, channels: 2, bytesPerSecond: 1, blockBytes: 512 }),
			1,
		],
		["a size that a streaming writer left", wav(32_000, { dataSize: 0xffff_ffff }), 1],
		["a size that a streaming writer never set", wav(32_000, { dataSize: 0 }), 1],
		["a declared size above 4 GiB", wav(32_000, { id: "RF64", dataSize: 0xffff_ffff }), 1],
		["less than is there", wav(32_000, { dataSize: 16_000 }), 0.5],
		["none", wav(0), 0],
		["several chunks", inChunks, 1],
		[
			"200,000 chunks",
			wavChunks(wav(16_000), new Uint8Array(1_600_000), chunk("data", new Uint8Array(16_000))),
			1,
		],
		["the extensible format", extensible(1, 16), 1],
		["the extensible format, with 12 of 16 bits valid", extensible(1, 12), 1],
	])("WAV: %s", (_, bytes, seconds) => {
		expect(secondsOf({ bytes })).toBe(seconds);
	});

	it.each([
		["without a rate", wav(32_000, { rate: 0 })],
		[
			"of an unknown compressed format, which only declares its rate",
			wav(32_000, { format: 0x55, bytesPerSecond: 1e6 }),
		],
		["of GSM with other blocks", wav(32_000, { format: GSM, blockBytes: 64 })],
		["of ADPCM of Microsoft with 2 bits per sample", wav(32_000, { format: 2, bits: 2, blockBytes: 256 })],
		["of ADPCM of IMA with 2 bits per sample", wav(32_000, { format: 0x11, bits: 2, blockBytes: 256 })],
		["of ADPCM of IMA with 3 bits per sample", wav(32_000, { format: 0x11, bits: 3, blockBytes: 256 })],
		["of ADPCM with blocks that are all state", wav(32_000, { format: 2, bits: 4, blockBytes: 6 })],
		["of ADPCM at 4 GHz", wav(32_000, { format: 2, bits: 4, rate: 4_000_000_000, blockBytes: 256 })],
		["of ADPCM without channels", wav(32_000, { format: 2, bits: 4, channels: 0, blockBytes: 256 })],
		["cut in its header", wav(32_000).subarray(0, 30)],
		["with 4 bits per sample", wav(32_000, { bits: 4 })],
		["with samples larger than 64 bits", wav(32_000, { bits: 65_528 })],
		["with mu-law of 64 bits", wav(32_000, { format: MU_LAW, bits: 64 })],
		["with floats of 16 bits", wav(32_000, { format: FLOAT })],
		["with a block that is not the samples of its channels", wav(32_000, { blockBytes: 64 })],
		["at 4 GHz", wav(32_000, { rate: 4_000_000_000 })],
		["with more channels than engines read", wav(32_000, { channels: 65_000, bits: 8 })],
		[
			"with two formats",
			wavChunks(wav(2), chunk("fmt ", wav(0).subarray(32, 48)), chunk("data", new Uint8Array(99))),
		],
		["of the extensible format, with an unknown identifier", extensible(1, 16).with(50, 1)],
	])("WAV %s has none", (_, bytes) => {
		expect(secondsOf({ bytes: bytes.slice() })).toBeUndefined();
	});

	it.each([
		["audio/pcm", 1],
		["audio/l16;rate=8000", 2],
		["audio/L16; rate=8000; channels=2", 1],
		["audio/x-mulaw", 4],
		["audio/alaw;rate=16000", 2],
		["audio/pcm;rate=0;channels=99", 1],
	])("%s without a file", (contentType, seconds) => {
		expect(secondsOf({ bytes: new Uint8Array(32_000), contentType })).toBe(seconds);
	});

	it.each([
		["uint8", 2],
		["float32", 0.5],
		["float64", 0.25],
	] as const)("%s samples", (dtype, seconds) => {
		expect(secondsOf({ bytes: new Uint8Array(32_000) }, dtype)).toBe(seconds);
	});

	it("uses the file header for any content type", () => {
		expect(secondsOf({ bytes: wav(32_000), contentType: "audio/mulaw" }, "uint8")).toBe(1);
	});
});

describe("the duration of other audio", () => {
	it("counts the frames of an MP3", async () => {
		const seconds = secondsOf({ bytes: mp3(100), contentType: "audio/mpeg" });
		expect(seconds).toBeCloseTo(100 * MP3_FRAME_SECONDS, 1);
	});

	it("adds up the pages of an Ogg file by its last one", async () => {
		const page = (type: number, position: number, packet: string): string =>
			`OggS\0${String.fromCharCode(type)}\0\0${String.fromCharCode(position)}\0\0\0\0\0${"\x07\0\0\0".repeat(3)}\x01${String.fromCharCode(packet.length)}${packet}`;
		const file = page(2, 0, "OpusHead\x01\x01\0\0\x80\xbb\0\0\0\0\0") + page(4, 0x77, "\0");
		expect(secondsOf({ bytes: latin1(file) })).toBe((0x77 * 65_536) / 48_000);
	});

	it("keeps the duration of a WebM file with more clusters than may be read", async () => {
		const head = "\x1a\x45\xdf\xa3\x87\x42\x82\x84webm\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff";
		// Milliseconds, as a float: 90,000.
		const info = "\x15\x49\xa9\x66\x8e\x2a\xd7\xb1\x83\x0f\x42\x40\x44\x89\x84\x47\xaf\xc8\0";
		const tracks = "\x16\x54\xae\x6b\x8f\xae\x8d\xd7\x81\x01\x83\x81\x02\x86\x85A_OPU";
		const cluster = "\x1f\x43\xb6\x75\x83\xe7\x81\0";
		const seconds = secondsOf({ bytes: latin1(head + info + tracks + cluster.repeat(5_000)) });
		expect(seconds).toBe(90);
	});

	// The durations of the audio streams' headers. `ffprobe` and `music-metadata` read the same.
	it.each([
		["m4a", 0.628],
		["fragmentedMp4", 0.628],
		["video", 0.628],
		["webm", 0.508],
		["flac", 0.5],
		["mp3", 0.648],
		["aiff", 0.1],
	] as const)("reads the headers of a file that ffmpeg wrote: %s", async (name, seconds) => {
		expect(secondsOf({ bytes: await audioFile(name) })).toBeCloseTo(seconds, 6);
	});

	it("finds no audio in a video without sound", async () => {
		expect(secondsOf({ bytes: await audioFile("silentVideo") })).toBeUndefined();
	});

	it.each(["m4a", "fragmentedMp4", "webm", "flac", "aiff"] as const)(
		"ends for any part of a file: %s",
		async (name) => {
			const bytes = await audioFile(name);
			for (let end = 0; end < Math.min(bytes.length, 1_500); end++) {
				const seconds = secondsOf({ bytes: bytes.slice(0, end) });
				expect(seconds === undefined || seconds > 0).toBe(true);
			}
		},
	);

	it.each([
		["text", Uint8Array.from(new TextEncoder().encode("This is no sound at all, it is a sentence."))],
		["nothing", new Uint8Array()],
	])("%s has none", async (_, bytes) => {
		expect(secondsOf({ bytes })).toBeUndefined();
	});

	it("ends for any bytes", async () => {
		await fc.assert(
			fc.asyncProperty(
				fc.constantFrom(
					"",
					"RIFF",
					"fLaC",
					"OggS",
					"ID3",
					"\xff\xfb",
					"\x1a\x45\xdf\xa3",
					"\0\0\0\x08ftypM4A ",
					"FORM\0\0\0\0AIFF",
				),
				fc.uint8Array({ maxLength: 300 }),
				async (start, tail) => {
					const bytes = Uint8Array.from([...[...start].map((letter) => letter.charCodeAt(0)), ...tail]);
					const seconds = secondsOf({ bytes });
					expect(seconds === undefined || seconds >= 0).toBe(true);
				},
			),
			{ numRuns: 60 },
		);
	});
});
