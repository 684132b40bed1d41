import fc from "fast-check";
import { expect, it } from "vitest";
import { mark, marked } from "../../../../src/backends/simulator/media/watermark.ts";

it("gives back any text, and changes no sample by more than one step", () => {
	fc.assert(
		fc.property(
			fc.string({ unit: "grapheme", maxLength: 60 }),
			fc.uint8Array({ minLength: 9_000, maxLength: 9_002 }),
			fc.constantFrom(1 as const, 2 as const),
			(text, before, sampleBytes) => {
				const samples = before.slice();
				mark(samples, sampleBytes, text);
				expect(
					samples.every((byte, at) => (byte ^ (before[at] ?? 0)) <= (at % sampleBytes === 0 ? 1 : 0)),
				).toBe(true);
				const fits = (16 + new TextEncoder().encode(text).length) * 8 * sampleBytes <= samples.length;
				expect(marked(samples, sampleBytes)).toBe(fits ? text : undefined);
			},
		),
	);
});

it("leaves what is too short as it is", () => {
	const samples = new Uint8Array((16 + 5) * 8 - 1);
	mark(samples, 1, "Hello");
	expect(samples.every((byte) => byte === 0)).toBe(true);
	expect(marked(samples, 1)).toBeUndefined();
	const enough = new Uint8Array((16 + 5) * 8);
	mark(enough, 1, "Hello");
	expect(marked(enough, 1)).toBe("Hello");
});

it("writes half a character as nobody can read it", () => {
	const samples = new Uint8Array(1_000);
	mark(samples, 1, "a\ud800b");
	expect(marked(samples, 1)).toBe("a\ufffdb");
});

it("finds nothing in anyone else's samples, nor after one bit has changed", () => {
	fc.assert(
		fc.property(
			fc.uint8Array({ maxLength: 2_000 }),
			fc.constantFrom(1 as const, 2 as const),
			(samples, bytes) => {
				expect(marked(samples, bytes)).toBeUndefined();
			},
		),
	);
	const samples = new Uint8Array((16 + 5) * 8);
	mark(samples, 1, "Hello");
	for (const at of samples.keys()) {
		const changed = samples.slice();
		changed[at] = (changed[at] ?? 0) ^ 1;
		expect(marked(changed, 1)).toBeUndefined();
	}
});
