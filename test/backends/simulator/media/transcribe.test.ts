import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WaveFile } from "wavefile";
import { textToSpeech } from "../../../../src/backends/simulator/media/text-to-speech.ts";
import { transcribe } from "../../../../src/backends/simulator/media/transcribe.ts";
import { AiError } from "../../../../src/core/errors.ts";
import type { Media } from "../../../../src/media/media.ts";
import type { TranscriptionInput } from "../../../../src/tasks/speech-recognition/types.ts";
import type { SpeechInput } from "../../../../src/tasks/text-to-speech/index.ts";
import { CHROMIUM_RECORDING, flacHeader, RED_SQUARE } from "./fixtures.ts";

const listen = (audio: Media, changes: Partial<TranscriptionInput> = {}) =>
	transcribe({ audio, task: "transcribe", ...changes });

const echo = async (text: string, changes: Partial<SpeechInput> = {}) =>
	listen(await textToSpeech({ text, encoding: "mp3", ...changes }));

const wav = (seconds: number, rate: number, channels = 1): Media => {
	const file = new WaveFile();
	const samples = Array.from({ length: channels }, () => new Int16Array(seconds * rate).fill(100));
	file.fromScratch(channels, rate, "16", channels === 1 ? (samples[0] ?? []) : samples);
	return { bytes: new Uint8Array(file.toBuffer()), contentType: "audio/wav" };
};

/** Nobody says a null, or the spaces around. */
const said = (text: string): string => text.replaceAll("\0", "").trim();

const TEXTS = [
	"Hello, world!",
	"How much is 2 + 2? It is 4; honestly.",
	"Zażółć gęślą jaźń. Ünïcödé ß.",
	"Привет, мир! Как дела?",
	"你好，世界。今天天气很好。",
	"こんにちは、世界。",
	"مرحبا بالعالم",
	"नमस्ते दुनिया।",
	'👩‍👩‍👧‍👦 family — and "quotes" / slashes',
	"Line one.\n\nLine  two.",
];

describe("the simulator's own speech", () => {
	it.each(TEXTS.map((text) => [text.slice(0, 40), text] as const))(
		"comes back word for word: %j",
		async (_, text) => {
			for (const encoding of ["mp3", "linear16", "mulaw", "alaw"] as const)
				expect((await echo(text, { encoding })).text).toBe(text);
		},
	);

	it("is recognised in truncated audio", async () => {
		const text = "A rather long text. ".repeat(400).trim();
		const transcript = await echo(text, { encoding: "mulaw" });
		expect(transcript.text).toBe(text);
		expect(transcript.duration).toBe(60);
		expect(transcript.segments).toHaveLength(400);
	});

	it("is recognised for any text", async () => {
		await fc.assert(
			fc.asyncProperty(
				fc
					.string({
						unit: fc.oneof(
							fc.constantFrom(" ", "a", ".", "/", "ÿ", "\ufeff", "\u0001"),
							fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }),
						),
						minLength: 1,
						maxLength: 40,
					})
					.filter((text) => said(text) !== ""),
				fc.constantFrom("mp3" as const, "mulaw" as const),
				async (text, encoding) => {
					expect((await echo(text, { encoding, speed: 4 })).text).toBe(said(text));
				},
			),
			{ numRuns: 60 },
		);
	});

	it("has times for its words and sentences", async () => {
		const text = "Well, hello. Who is there?";
		const transcript = await echo(text, { encoding: "linear16" });
		const [well, hello, who, is, there] = [4, 5, 3, 2, 5].map((letters) => 0.1 + letters * 0.055);
		if (!well || !hello || !who || !is || !there) throw new Error("five words");
		const second = well + 0.15 + hello + 0.35;
		const duration = second + who + is + there + 0.35;
		const ms = (seconds: number) => expect.closeTo(seconds, 3);
		// 26 bytes, and as zlib has them: 26 and a head, a check sum and an end.
		const SURE = { temperature: 0, avg_logprob: 0, no_speech_prob: 0, compression_ratio: 0.765 };
		expect(transcript).toEqual({
			text,
			language: "en",
			duration: ms(duration),
			words: [
				{ word: "Well,", start: 0, end: ms(well), confidence: 1 },
				{ word: "hello.", start: ms(well + 0.15), end: ms(second - 0.35), confidence: 1 },
				{ word: "Who", start: ms(second), end: ms(second + who), confidence: 1 },
				{ word: "is", start: ms(second + who), end: ms(second + who + is), confidence: 1 },
				{ word: "there?", start: ms(second + who + is), end: ms(duration - 0.35), confidence: 1 },
			],
			segments: [
				{ start: 0, end: ms(second - 0.35), text: "Well, hello.", ...SURE },
				{ start: ms(second), end: ms(duration - 0.35), text: "Who is there?", ...SURE },
			],
		});
	});

	it("is not recognised in raw samples", async () => {
		const heard = await echo("Hello there.", { encoding: "linear16", container: "none" });
		expect(heard.text).toBe("[Simulated transcript: 1.1 seconds of raw PCM audio, 24000 Hz, mono.]");
	});

	it("has a compression ratio", async () => {
		const [once, often] = await Promise.all(
			["All is well.", "All is well. ".repeat(40).trim()].map((text) => echo(text, { encoding: "mulaw" })),
		);
		expect(once?.segments?.[0]?.compression_ratio).toBeLessThan(1);
		expect(often?.segments?.[0]?.compression_ratio).toBeGreaterThan(10);
	});
});

describe("other sound is measured", () => {
	it.each<[string, Media, string, number]>([
		["WAV", wav(3.25, 16_000), "3.3 seconds of WAV audio, 16000 Hz, mono", 3.25],
		["stereo", wav(1, 44_100, 2), "1 seconds of WAV audio, 44100 Hz, stereo", 1],
		["six channels", wav(1, 8_000, 6), "1 seconds of WAV audio, 8000 Hz, 6 channels", 1],
		["FLAC", { bytes: flacHeader(44_100 * 90) }, "90 seconds of FLAC audio, 44100 Hz, stereo", 90],
		[
			"raw samples",
			{ bytes: new Uint8Array(32_000), contentType: "audio/pcm" },
			"1 seconds of raw PCM audio, 16000 Hz, mono",
			1,
		],
		[
			"raw samples that say how they are written",
			{ bytes: new Uint8Array(96_000), contentType: "audio/l16;rate=24000;channels=2" },
			"1 seconds of raw PCM audio, 24000 Hz, stereo",
			1,
		],
		[
			"raw samples that begin as an MP3 does",
			{
				bytes: new Uint8Array(16_000).map((_, i) => [0xff, 0xfb, 0x90, 0x64][i % 400] ?? 0),
				contentType: "audio/pcm",
			},
			"0.5 seconds of raw PCM audio, 16000 Hz, mono",
			0.5,
		],
		[
			"raw mu-law",
			{ bytes: new Uint8Array(4_000), contentType: "audio/mulaw" },
			"0.5 seconds of raw mulaw audio, 8000 Hz, mono",
			0.5,
		],
		[
			"WAV that is called raw",
			{ ...wav(2, 8_000), contentType: "audio/pcm" },
			"2 seconds of WAV audio, 8000 Hz, mono",
			2,
		],
	])("%s", async (_, audio, facts, duration) => {
		const { text, words, segments, ...rest } = await listen(audio);
		expect(text).toBe(`[Simulated transcript: ${facts}.]`);
		expect(rest).toEqual({ language: "en", duration });
		expect(words?.map(({ word }) => word).join(" ")).toBe(text);
		expect(words?.every(({ confidence }) => confidence === 0.5)).toBe(true);
		const unsure = {
			temperature: 0,
			avg_logprob: expect.closeTo(Math.log(0.5), 3),
			no_speech_prob: 0.5,
			compression_ratio: expect.any(Number),
		};
		expect(segments).toEqual([{ start: 0, end: expect.any(Number), text, ...unsure }]);
		expect(words?.at(-1)?.end).toBeLessThanOrEqual(duration);
	});

	it("without times if the duration is unknown", async () => {
		expect(await listen({ bytes: flacHeader(0) })).toEqual({
			text: "[Simulated transcript: an unknown length of FLAC audio, 44100 Hz, stereo.]",
			language: "en",
		});
	});

	it("of a browser's recording, whose clusters have no length", async () => {
		expect(await listen({ bytes: CHROMIUM_RECORDING })).toEqual({
			text: "[Simulated transcript: an unknown length of WebM audio, 48000 Hz, mono.]",
			language: "en",
		});
	});

	it("without reading other programs' comments", async () => {
		const file = new WaveFile();
		file.fromScratch(1, 8_000, "16", new Int16Array(8_000));
		file.setTag("ISFT", "Somebody's editor");
		file.setTag("ICMT", "Not what was said");
		expect((await listen({ bytes: new Uint8Array(file.toBuffer()) })).text).toMatch(
			/^\[Simulated transcript: /,
		);
	});
});

it("has the requested language, or en; and en for a translation", async () => {
	const audio = await textToSpeech({ text: "Guten Tag.", encoding: "mulaw" });
	expect((await listen(audio)).language).toBe("en");
	expect((await listen(audio, { language: "de" })).language).toBe("de");
	expect((await listen(audio, { language: "de", task: "translate" })).language).toBe("en");
	expect((await listen(audio, { temperature: 0.4 })).segments?.[0]?.temperature).toBe(0.4);
});

describe("refuses with 8001 Invalid input", () => {
	const refusal = (audio: Media): Promise<unknown> => listen(audio).catch((error: unknown) => error);

	it.each<[string, { bytes: Uint8Array; contentType?: string }]>([
		["nothing", { bytes: new Uint8Array() }],
		["nothing that is called raw", { bytes: new Uint8Array(), contentType: "audio/pcm" }],
		["text", { bytes: new TextEncoder().encode("Hello, I am not a recording."), contentType: "audio/wav" }],
		["ten bytes", { bytes: Uint8Array.of(7, 81, 200, 13, 99, 4, 250, 31, 66, 180) }],
		["an image", { bytes: RED_SQUARE.palettePng, contentType: "audio/mpeg" }],
		[
			"an MP3 tag alone",
			{ bytes: new Uint8Array([...new TextEncoder().encode("ID3"), 4, 0, 0, 0, 0, 0, 0]) },
		],
		["a RIFF header alone", { bytes: new TextEncoder().encode("RIFF\x04\0\0\0WAVE") }],
	])("%s", async (_, audio) => {
		const error = await refusal({ ...audio, bytes: new Uint8Array(audio.bytes) });
		expect(error).toBeInstanceOf(AiError);
		expect(error).toMatchObject({ code: 8001, status: 400, description: "Invalid input" });
	});

	it("damaged files, or transcribes the readable part", async () => {
		const files = [
			(await textToSpeech({ text: "Some words to break.", encoding: "mp3" })).bytes,
			(await textToSpeech({ text: "Some words to break.", encoding: "mulaw" })).bytes,
			wav(0.1, 8_000).bytes,
			flacHeader(1000),
			CHROMIUM_RECORDING,
		];
		const damaged = fc
			.record({
				file: fc.constantFrom(...files),
				changes: fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { minLength: 1, maxLength: 8 }),
				length: fc.nat(4_000),
			})
			.map(({ file, changes, length }) => {
				const bytes = file.slice(0, length);
				for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
				return bytes;
			});
		await fc.assert(
			fc.asyncProperty(fc.oneof(damaged, fc.uint8Array({ maxLength: 300 })), async (bytes) => {
				const result = await refusal({ bytes: new Uint8Array(bytes) });
				if (result instanceof Error) expect(result).toBeInstanceOf(AiError);
				else expect(result).toHaveProperty("text");
			}),
			{ numRuns: 300 },
		);
	});
});

it("stops at files that take too long", { timeout: 20_000 }, async () => {
	const repeated = (start: string, unit: string): Media => {
		const bytes = new Uint8Array(3 * 1024 * 1024);
		for (let i = 0; i < bytes.length; i++)
			bytes[i] =
				(i < start.length ? start.charCodeAt(i) : unit.charCodeAt((i - start.length) % unit.length)) & 0xff;
		return { bytes };
	};
	const hostile = [
		repeated("\xff\xf1\x50\x80", "\0\xff\xfc\xff\xf1\x50\x80"),
		repeated("\xff\xfb\x90\x64", "\xff\xe0"),
		repeated("RIFF\xff\xff\xff\x7fWAVE", "abcd\0\0\0\0"),
		repeated("RIFF\xff\xff\xff\x7fWAVELIST\xff\xff\x2f\0INFO", "ICMT\x02\0\0\0a\0"),
		repeated("\0\0\0\x14ftypM4A \0\0\0\0isom", "\0\0\0\x08free"),
	];
	// Read to their ends these take minutes together; the test's own time limit is the assertion.
	for (const audio of hostile) {
		const result = await listen(audio).catch((error: unknown) => error);
		if (result instanceof Error) expect(result).toBeInstanceOf(AiError);
		else expect(result).not.toHaveProperty("duration");
	}
});
