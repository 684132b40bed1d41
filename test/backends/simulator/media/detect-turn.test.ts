import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WaveFile } from "wavefile";
import { detectTurn } from "../../../../src/backends/simulator/media/detect-turn.ts";
import { textToSpeech } from "../../../../src/backends/simulator/media/text-to-speech.ts";
import { AiError } from "../../../../src/errors.ts";
import type { TurnInput } from "../../../../src/tasks/audio.ts";

const RATE = 16_000;

/** A second of tone, then `silence` seconds without. -1 to 1. */
const tone = (silence: number): number[] =>
	Array.from({ length: RATE * (1 + silence) }, (_, i) =>
		i < RATE ? 0.5 * Math.sin((i * 2 * Math.PI * 220) / RATE) : 0,
	);

const spoken = tone(0.5);
const speaking = tone(0);

function wavOf(
	samples: number[],
	depth: "8" | "16" | "24" | "32" | "32f" | "64",
	channels = 1,
): Uint8Array<ArrayBuffer> {
	const scale = { "8": 127, "16": 2 ** 15, "24": 2 ** 23, "32": 2 ** 31, "32f": 1, "64": 1 }[depth];
	const values = samples.map((sample) => (depth === "8" ? Math.round(sample * scale + 128) : sample * scale));
	const file = new WaveFile();
	file.fromScratch(
		channels,
		RATE,
		depth,
		channels === 1 ? values : Array.from({ length: channels }, () => values),
	);
	return new Uint8Array(file.toBuffer());
}

const bytesOf = (array: { buffer: ArrayBufferLike }): Uint8Array<ArrayBuffer> =>
	new Uint8Array(array.buffer as ArrayBuffer);

describe("hears whether the end is silent", () => {
	it.each<[string, (samples: number[]) => TurnInput]>([
		["8-bit WAV", (samples) => ({ audio: { bytes: wavOf(samples, "8") } })],
		["16-bit WAV", (samples) => ({ audio: { bytes: wavOf(samples, "16") } })],
		["24-bit WAV", (samples) => ({ audio: { bytes: wavOf(samples, "24") } })],
		["32-bit WAV", (samples) => ({ audio: { bytes: wavOf(samples, "32") } })],
		["float WAV", (samples) => ({ audio: { bytes: wavOf(samples, "32f") } })],
		["double WAV", (samples) => ({ audio: { bytes: wavOf(samples, "64") } })],
		["stereo WAV", (samples) => ({ audio: { bytes: wavOf(samples, "16", 2) } })],
		["WAV with a dtype", (samples) => ({ audio: { bytes: wavOf(samples, "16") }, dtype: "float32" })],
		[
			"uint8",
			(samples) => ({ audio: { bytes: Uint8Array.from(samples, (s) => 128 + s * 127) }, dtype: "uint8" }),
		],
		["float32", (samples) => ({ audio: { bytes: bytesOf(Float32Array.from(samples)) }, dtype: "float32" })],
		["float64", (samples) => ({ audio: { bytes: bytesOf(Float64Array.from(samples)) }, dtype: "float64" })],
		[
			"floats on the scale of 16 bits",
			(samples) => ({
				audio: { bytes: bytesOf(Float32Array.from(samples, (s) => s * 32768)) },
				dtype: "float32",
			}),
		],
		[
			"audio/pcm",
			(samples) => ({
				audio: {
					bytes: bytesOf(Int16Array.from(samples, (s) => s * 32767)),
					contentType: "audio/pcm;rate=16000",
				},
			}),
		],
	])("in %s", async (_, input) => {
		const complete = await detectTurn(input(spoken));
		const open = await detectTurn(input(speaking));
		expect(complete.is_complete).toBe(true);
		expect(complete.probability).toBeGreaterThan(0.95);
		expect(open.is_complete).toBe(false);
		expect(open.probability).toBeCloseTo(1 / 17, 2);
	});

	it.each(["linear16", "mulaw", "alaw"] as const)("in the simulator's own %s", async (encoding) => {
		const turn = async (text: string) => detectTurn({ audio: await textToSpeech({ text, encoding }) });
		expect((await turn("That is all I have to say.")).is_complete).toBe(true);
		expect((await turn("That is all I have to")).is_complete).toBe(false);
	});

	it("whatever the microphone's offset", async () => {
		const samples = Float32Array.from(spoken, (sample) => sample + 0.3);
		expect((await detectTurn({ audio: { bytes: bytesOf(samples) }, dtype: "float32" })).is_complete).toBe(
			true,
		);
	});

	it("of the last sixteen seconds", async () => {
		// Loud long ago, soft and steady since.
		const samples = Float32Array.from(
			{ length: RATE * 40 },
			(_, i) => (i < RATE * 20 ? 1 : 0.02) * Math.sin(i / 9),
		);
		expect((await detectTurn({ audio: { bytes: bytesOf(samples) }, dtype: "float32" })).is_complete).toBe(
			false,
		);
	});

	it("in silence: nobody goes on", async () => {
		expect(await detectTurn({ audio: { bytes: wavOf(Array<number>(4000).fill(0), "16") } })).toEqual({
			is_complete: true,
			probability: 1,
		});
	});
});

const refusal = (input: TurnInput): Promise<unknown> => detectTurn(input).catch((error: unknown) => error);

describe("refuses", () => {
	it.each<[string, TurnInput]>([
		["nothing", { audio: { bytes: new Uint8Array() } }],
		["no whole sample", { audio: { bytes: new Uint8Array(7) }, dtype: "float64" }],
		["samples that nobody describes", { audio: { bytes: new Uint8Array(100) } }],
		[
			"text",
			{ audio: { bytes: new Uint8Array(new TextEncoder().encode("hello")), contentType: "text/plain" } },
		],
		["a WAV without samples", { audio: { bytes: wavOf([], "16") } }],
	])("%s", async (_, input) => {
		expect(await refusal(input)).toMatchObject({ name: "AiError", code: 8001 });
	});

	it("lists within lists, at once", async () => {
		const list = [...new TextEncoder().encode("LIST"), 4, 0, 0, 0, ...new TextEncoder().encode("INFO")];
		const head = wavOf(speaking, "16");
		const bytes = new Uint8Array([...head, ...Array.from({ length: 2000 }, () => list).flat()]);
		expect(await detectTurn({ audio: { bytes } })).toMatchObject({ is_complete: false });
	});

	it("damaged files, or judges what is left", async () => {
		const files = (["8", "16", "24", "32f", "64"] as const).map((depth) =>
			wavOf(spoken.slice(0, 300), depth),
		);
		const damaged = fc
			.record({
				file: fc.constantFrom(...files),
				changes: fc.array(fc.tuple(fc.nat(60), fc.nat(255)), { minLength: 1, maxLength: 6 }),
				length: fc.nat(700),
			})
			.map(({ file, changes, length }) => {
				const bytes = file.slice(0, length);
				for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
				return bytes;
			});
		await fc.assert(
			fc.asyncProperty(
				fc.oneof(damaged, fc.uint8Array({ maxLength: 200 })),
				fc.constantFrom(undefined, "uint8" as const, "float32" as const, "float64" as const),
				async (bytes, dtype) => {
					const result = await refusal({ audio: { bytes: new Uint8Array(bytes) }, ...(dtype && { dtype }) });
					if (result instanceof Error) expect(result).toBeInstanceOf(AiError);
					else {
						const { probability, is_complete } = result as Awaited<ReturnType<typeof detectTurn>>;
						expect(probability).toBeGreaterThanOrEqual(0);
						expect(probability).toBeLessThanOrEqual(1);
						expect(is_complete).toBe(probability > 0.5);
					}
				},
			),
			{ numRuns: 500 },
		);
	});
});
