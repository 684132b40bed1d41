import fc from "fast-check";
import { parseBuffer } from "music-metadata";
import { describe, expect, it } from "vitest";
import { WaveFile } from "wavefile";
import { textToSpeech } from "../../../../src/backends/simulator/media/text-to-speech.ts";
import type { SpeechInput } from "../../../../src/tasks/text-to-speech/index.ts";

const TEXT = "The edge is near. Is it?";
/** Six words, seventeen letters, two sentences. */
const TEXT_SECONDS = 6 * 0.1 + 17 * 0.055 + 2 * 0.35;

const say = (changes: Partial<SpeechInput> = {}) =>
	textToSpeech({ text: TEXT, encoding: "linear16", ...changes });

const samplesOf = (wav: Uint8Array): Float64Array => {
	const file = new WaveFile(wav);
	if (file.bitDepth === "8m") file.fromMuLaw();
	if (file.bitDepth === "8a") file.fromALaw();
	return file.getSamples(true);
};

const loudness = (samples: Float64Array): number =>
	Math.sqrt(samples.reduce((sum, sample) => sum + sample ** 2, 0) / samples.length);

describe("writes", () => {
	it.each<[string, Partial<SpeechInput>, Record<string, unknown>]>([
		[
			"mp3",
			{ encoding: "mp3" },
			{ container: "MPEG", codec: "MPEG 2 Layer 3", sampleRate: 24_000, bitrate: 48_000 },
		],
		["mp3 at 32 kbit/s", { encoding: "mp3", bit_rate: 32_000 }, { sampleRate: 24_000, bitrate: 32_000 }],
		["linear16", {}, { container: "WAVE", codec: "PCM", bitsPerSample: 16, sampleRate: 24_000 }],
		["linear16 at 16 kHz", { sample_rate: 16_000 }, { codec: "PCM", sampleRate: 16_000 }],
		[
			"mulaw",
			{ encoding: "mulaw" },
			{ container: "WAVE", codec: "MULAW", bitsPerSample: 8, sampleRate: 8_000 },
		],
		["alaw", { encoding: "alaw", container: "wav" }, { container: "WAVE", codec: "ALAW", sampleRate: 8_000 }],
	])("%s, one channel, as long as the text", async (_, changes, format) => {
		const { bytes, contentType } = await say(changes);
		expect(contentType).toBe(changes.encoding === "mp3" ? "audio/mpeg" : "audio/wav");
		const metadata = await parseBuffer(bytes, undefined, { duration: true });
		expect(metadata.format).toMatchObject({ ...format, numberOfChannels: 1 });
		// Layer III has whole frames only.
		const slack = changes.encoding === "mp3" ? 1152 / (metadata.format.sampleRate ?? 1) : 0.001;
		expect(metadata.format.duration).toBeGreaterThan(TEXT_SECONDS - slack);
		expect(metadata.format.duration).toBeLessThan(TEXT_SECONDS + slack);
	});

	it.each([
		["linear16", undefined, "audio/l16;rate=24000;channels=1", 2],
		["linear16", 16_000, "audio/l16;rate=16000;channels=1", 2],
		["mulaw", undefined, "audio/mulaw;rate=8000;channels=1", 1],
		["alaw", undefined, "audio/alaw;rate=8000;channels=1", 1],
	] as const)(
		"%s at %s without a container: the samples alone",
		async (encoding, sample_rate, type, width) => {
			const raw = await say({ encoding, container: "none", ...(sample_rate && { sample_rate }) });
			expect(raw.contentType).toBe(type);
			const rate = Number(/rate=(\d+)/.exec(type)?.[1]);
			expect(raw.bytes.length).toBe(Math.round(TEXT_SECONDS * rate) * width);
			const wav = await say({ encoding, ...(sample_rate && { sample_rate }) });
			const data = wav.bytes.findIndex(
				(_, i) => new TextDecoder().decode(wav.bytes.subarray(i, i + 4)) === "data",
			);
			expect(wav.bytes.subarray(data + 8, data + 8 + raw.bytes.length)).toEqual(raw.bytes);
		},
	);
});

describe("the sound", () => {
	it.each(["linear16", "mulaw", "alaw"] as const)(
		"is heard in words and silent between sentences: %s",
		async (encoding) => {
			const { bytes } = await say({ encoding });
			const samples = samplesOf(bytes);
			const rate = samples.length / TEXT_SECONDS;
			const part = (from: number, to: number) =>
				loudness(samples.subarray(Math.ceil(from * rate), Math.floor(to * rate)));
			const firstEnd = 4 * 0.1 + 13 * 0.055;
			expect(part(0, firstEnd)).toBeGreaterThan(1_000);
			expect(part(firstEnd, firstEnd + 0.34)).toBeLessThan(20);
			expect(part(TEXT_SECONDS - 0.34, TEXT_SECONDS)).toBeLessThan(20);
		},
	);

	it("is the same bytes for the same input", async () => {
		for (const encoding of ["mp3", "linear16", "mulaw", "alaw"] as const)
			expect(await say({ encoding })).toEqual(await say({ encoding }));
	});

	it("of an MP3 is silence: frames of a header and zeros, one after the other", async () => {
		const { bytes } = await say({ encoding: "mp3" });
		// 24 kHz, 48 kbit/s, one channel; 144 bytes a frame, 24 ms each.
		const header = [0xff, 0xf3, 0x64, 0xc0];
		const start = bytes.findIndex((_, at) => header.every((byte, place) => bytes[at + place] === byte));
		expect((bytes.length - start) % 144).toBe(0);
		expect((bytes.length - start) / 144).toBe(Math.round(TEXT_SECONDS / 0.024));
		for (let frame = start; frame < bytes.length; frame += 144) {
			expect([...bytes.subarray(frame, frame + 4)]).toEqual(header);
			expect(bytes.subarray(frame + 4, frame + 144).every((byte) => byte === 0)).toBe(true);
		}
	});

	it("has tags of the simulator", async () => {
		const tags = async (encoding: SpeechInput["encoding"]) =>
			Object.values((await parseBuffer((await say({ encoding })).bytes)).native)
				.flat()
				.map(({ id, value }) => [id, value]);
		expect(await tags("mp3")).toEqual([
			["TSSE", "Ganglion simulator"],
			["TXXX:simulated", "Simulated by Ganglion: no model made this."],
			["TXXX:ganglion.text", TEXT],
		]);
		expect(await tags("linear16")).toEqual([
			["ISFT", "Ganglion simulator"],
			["IKEY", "Simulated by Ganglion: no model made this."],
			["ICMT", TEXT],
		]);
	});

	it.each([0.25, 2, 4])("is shorter at a higher speed: %d", async (speed) => {
		const { format } = await parseBuffer((await say({ speed })).bytes);
		expect(format.duration).toBeCloseTo(TEXT_SECONDS / speed, 3);
	});

	it("of a long text ends within a minute", async () => {
		const text = "A long story, told again. ".repeat(200);
		const { format } = await parseBuffer((await say({ text, encoding: "mulaw" })).bytes);
		expect(format.duration).toBe(60);
	});

	it("exists for any text with letters", async () => {
		await fc.assert(
			fc.asyncProperty(
				fc
					.string({ unit: "grapheme", minLength: 1, maxLength: 30 })
					.filter((text) => text.replaceAll("\0", "").trim() !== ""),
				async (text) => {
					const { bytes } = await say({ text, encoding: "mulaw" });
					expect(loudness(samplesOf(bytes))).toBeGreaterThan(0);
				},
			),
			{ numRuns: 50 },
		);
	});
});

describe("refuses", () => {
	it.each<[Partial<SpeechInput>, string]>([
		[
			{ encoding: "flac" },
			"The simulator does not write flac; its encodings are mp3, linear16, mulaw and alaw.",
		],
		[
			{ encoding: "opus" },
			"The simulator does not write opus; its encodings are mp3, linear16, mulaw and alaw.",
		],
		[
			{ encoding: "aac" },
			"The simulator does not write aac; its encodings are mp3, linear16, mulaw and alaw.",
		],
		[{ encoding: "mp3", container: "wav" }, "mp3 needs no container; it cannot be put in wav."],
		[{ container: "ogg" }, "linear16 goes into container wav or none, not ogg."],
		[{ encoding: "mp3", sample_rate: 12_345 }, "sample_rate for mp3 must be 24000, or left out."],
		[{ encoding: "mp3", bit_rate: 128_000 }, "bit_rate for mp3 must be one of 32000, 48000."],
		[{ sample_rate: 1 }, "sample_rate for linear16 must be a whole number from 4000 to 48000."],
		[
			{ encoding: "alaw", sample_rate: 8_000.5 },
			"sample_rate for alaw must be a whole number from 4000 to 48000.",
		],
		[{ speed: 0 }, "speed must be between 0.25 and 4."],
		[{ speed: Number.NaN }, "speed must be between 0.25 and 4."],
		[{ text: "" }, "There is nothing to say: the text is empty."],
		[{ text: " \n\0" }, "There is nothing to say: the text is empty."],
	])("%j", async (changes, description) => {
		await expect(say(changes)).rejects.toMatchObject({ name: "AiError", code: 8001, description });
	});
});
