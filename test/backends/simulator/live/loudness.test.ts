import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WaveFile } from "wavefile";
import { Loudness, type Samples } from "../../../../src/backends/simulator/live/loudness.ts";
import { joined, RATE, tone } from "./audio.ts";

const LINEAR: Samples = { encoding: "linear16", sample_rate: RATE, channels: 1 };

function loudness(samples: Partial<Samples> = {}): Loudness {
	const reader = Loudness.of({ ...LINEAR, ...samples });
	if (!reader) throw new Error("not read");
	return reader;
}

const levels = (samples: Partial<Samples>, ...pieces: Uint8Array[]): number[] => {
	const reader = loudness(samples);
	return pieces.flatMap((piece) => [...reader.process(piece)]);
};

const constant = (value: number, samples: number): Uint8Array<ArrayBuffer> =>
	new Uint8Array(new Int16Array(samples).fill(value).buffer);

describe("loudness", () => {
	it("is the root mean square of each 20 ms", () => {
		const found = levels({}, tone(0.1));
		expect(found).toHaveLength(5);
		for (const level of found) expect(level).toBeCloseTo(0.5 / Math.SQRT2, 2);
	});

	it("ignores a constant offset", () => {
		expect(levels({}, constant(12_000, 320))).toEqual([0]);
	});

	it("mixes channels", () => {
		const opposed = Int16Array.from({ length: 640 }, (_, i) => (i % 2 ? -1 : 1) * 8000 * Math.sin(i >> 1));
		expect(levels({ channels: 2 }, new Uint8Array(opposed.buffer))).toEqual([0]);
		expect(levels({ channels: 2 }, tone(0.02, RATE, 2))[0]).toBeCloseTo(0.5 / Math.SQRT2, 1);
	});

	it("decodes every mu-law code", () => {
		const codes = Uint8Array.from({ length: 256 }, (_, code) => code);
		const wav = new WaveFile();
		wav.fromScratch(1, 8000, "8m", codes);
		wav.fromMuLaw();
		const decoded = [...wav.getSamples(true)];
		for (const code of codes) {
			// A code and its negative, in turns: the loudness is the size.
			const pair = Uint8Array.from({ length: 160 }, (_, i) => (i % 2 ? code ^ 0x80 : code));
			const [level] = levels({ encoding: "mulaw", sample_rate: 8000 }, pair);
			expect(level, `${code}`).toBeCloseTo(Math.abs(Number(decoded[code])) / 0x8000, 10);
		}
	});

	it("has the duration, with the incomplete window", () => {
		const reader = loudness();
		expect([...reader.process(tone(0.05))]).toHaveLength(2);
		expect(reader.duration).toBeCloseTo(0.05, 10);
	});

	it("has windows of whole samples at any rate", () => {
		expect(loudness({ sample_rate: 11_025 }).windowSeconds).toBe(221 / 11_025);
		expect(levels({ sample_rate: 11_025 }, tone(1, 11_025))).toHaveLength(49);
	});

	it.each(["flac", "opus", "speex", "amr-nb", "amr-wb", "g729"] as const)("does not read %s", (encoding) => {
		expect(Loudness.of({ ...LINEAR, encoding })).toBeUndefined();
	});

	it("does not depend on the pieces of the input", () => {
		const sound = joined(tone(0.05, RATE, 3), constant(100, 99), tone(0.02, RATE, 3));
		const whole = levels({ channels: 3 }, sound);
		fc.assert(
			fc.property(fc.array(fc.nat({ max: sound.length }), { maxLength: 20 }), (cuts) => {
				const places = [0, ...cuts.sort((a, b) => a - b), sound.length];
				const pieces = places.slice(1).map((to, i) => sound.subarray(places[i], to));
				expect(levels({ channels: 3 }, ...pieces)).toEqual(whole);
			}),
		);
	});
});
