/**
 * The words in the samples, for sound without a file around it, or in somebody else's: the lowest bit of each sample,
 * from the first, which nobody hears. They last as long as the samples are not changed: not through another codec,
 * another rate or another volume.
 *
 * "ganglion", the count of bytes and a hash of the text (32 bits each, little-endian), the text in UTF-8; each byte
 * lowest bit first.
 */
import { ascii } from "./riff.ts";
import { hash } from "./seeded.ts";

const MAGIC = ascii("ganglion");
const LENGTH_AT = MAGIC.length;
const HASH_AT = LENGTH_AT + 4;
const TEXT_AT = HASH_AT + 4;

/** Little-endian, one channel. */
export type SampleBytes = 1 | 2;

/** Writes into `samples`; leaves them as they are where they are too few for the text. */
export function mark(samples: Uint8Array, sampleBytes: SampleBytes, text: string): void {
	const said = new TextEncoder().encode(text);
	const message = new Uint8Array(TEXT_AT + said.length);
	message.set(MAGIC);
	const view = new DataView(message.buffer);
	view.setUint32(LENGTH_AT, said.length, true);
	view.setUint32(HASH_AT, hash(text.toWellFormed()), true);
	message.set(said, TEXT_AT);
	if (message.length * 8 * sampleBytes > samples.length) return;
	for (const [place, byte] of message.entries())
		for (let bit = 0; bit < 8; bit++) {
			const at = (place * 8 + bit) * sampleBytes;
			samples[at] = ((samples[at] ?? 0) & ~1) | ((byte >> bit) & 1);
		}
}

/** The words that {@link mark} left; undefined for anyone else's samples. */
export function marked(samples: Uint8Array, sampleBytes: SampleBytes): string | undefined {
	const room = Math.floor(samples.length / (8 * sampleBytes));
	const read = (from: number, length: number): Uint8Array =>
		Uint8Array.from({ length }, (_, place) => {
			let byte = 0;
			for (let bit = 0; bit < 8; bit++)
				byte |= ((samples[((from + place) * 8 + bit) * sampleBytes] ?? 0) & 1) << bit;
			return byte;
		});
	if (room < TEXT_AT) return undefined;
	const head = read(0, TEXT_AT);
	if (!MAGIC.every((byte, place) => head[place] === byte)) return undefined;
	const view = new DataView(head.buffer);
	const length = view.getUint32(LENGTH_AT, true);
	if (length > room - TEXT_AT) return undefined;
	const text = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(read(TEXT_AT, length));
	return hash(text) === view.getUint32(HASH_AT, true) ? text : undefined;
}
