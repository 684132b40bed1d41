/**
 * Counts the tokens of a prompt part by part, without joining or serialising it: an upper bound for reservations, and an
 * approximation for bills if the engine sends no counts.
 *
 * `UpperBound` is valid for the tokenizers of the catalogue's models, which never produce more tokens than a text has
 * bytes, and for templates that indent JSON. Tokens per image, audio or file depend on the engine: the numbers below are
 * the maxima of the models with documented numbers.
 */
import type { Size } from "../models/neurons.ts";
import type { Sound } from "./sound.ts";
import { utf8Length, writeJson } from "./text.ts";
import { LongTokenCount } from "./token-estimate.ts";

export interface Tally {
	readonly tokens: number;
	/** A complete text, tokenized separately from the others. */
	text(text: string): void;
	/** A value that the template writes as JSON. */
	json(value: unknown): void;
	/** The template's beginning, and the header of the reply. */
	opening(): void;
	/** The template's markers around this many messages, tools or lines. */
	markers(parts: number): void;
	/** `undefined` if the size is unknown. */
	image(size: Size | undefined): void;
	audio(sound: Sound): void;
	/** `bytes` is the size of the file. */
	video(bytes: number): void;
	file(bytes: number): void;
}

/** The date, the knowledge cutoff and the reply's channels (gpt-oss has the longest opening). */
const MAX_OPENING = 256;
/** A role's header and the end of a message. */
const MAX_MARKERS = 16;
/** Bytes of escaped and indented JSON per byte of compact JSON. */
const MAX_JSON_BYTES = 2;
/** Llama 3.2: four tiles of 1,601 tokens, even for small images. */
const MIN_IMAGE_BOUND = 6_500;
/** Qwen 2.5 VL: one token per 28 x 28 pixels, up to 12.8 million pixels. */
const SMALLEST_PATCH_PIXELS = 28;
const MAX_IMAGE_TOKENS = 16_400;
/** Gemini 2; Gemini 3, Qwen 2 Audio and Ultravox have 25. */
const MAX_TOKENS_PER_SECOND = 32;
/** Voxtral adds silence up to a multiple of 30 seconds, with 12.5 tokens per second. */
const MAX_SILENCE_TOKENS = 375;
/** Used if the duration is unknown: audio at 8 kHz and 8 bits; compressed audio at 8 kbit/s; video at 100 kbit/s. */
const MIN_BYTES_PER_SECOND = { samples: 8_000, compressed: 1_000, video: 12_500 };
/** The Clef models: at most 15,400 tokens per minute. */
const VIDEO_TOKENS_PER_SECOND = 257;

export class UpperBound implements Tally {
	#tokens = 0;

	get tokens(): number {
		return this.#tokens;
	}

	text(text: string): void {
		this.#tokens += utf8Length(text);
	}

	json(value: unknown): void {
		writeJson(value, (piece) => {
			this.#tokens += MAX_JSON_BYTES * utf8Length(piece);
		});
	}

	opening(): void {
		this.#tokens += MAX_OPENING;
	}

	markers(parts: number): void {
		this.#tokens += MAX_MARKERS * parts;
	}

	image(size: Size | undefined): void {
		const patches = size
			? Math.ceil(size.width / SMALLEST_PATCH_PIXELS) * Math.ceil(size.height / SMALLEST_PATCH_PIXELS)
			: MAX_IMAGE_TOKENS;
		this.#tokens += Math.min(MAX_IMAGE_TOKENS, Math.max(MIN_IMAGE_BOUND, patches));
	}

	audio({ bytes, kind, seconds = 0, maxSeconds = bytes / MIN_BYTES_PER_SECOND[kind] }: Sound): void {
		this.#tokens += Math.ceil(Math.max(seconds, maxSeconds) * MAX_TOKENS_PER_SECOND) + MAX_SILENCE_TOKENS;
	}

	video(bytes: number): void {
		this.#tokens += Math.ceil((bytes / MIN_BYTES_PER_SECOND.video) * VIDEO_TOKENS_PER_SECOND);
	}

	/** One token per byte. Formats that compress their text contain more than text. */
	file(bytes: number): void {
		this.#tokens += bytes;
	}
}

/** `<|im_start|>assistant\n` */
const TYPICAL_OPENING = 3;
/** `<|im_start|>user\n` … `<|im_end|>\n` */
const TYPICAL_MARKERS = 4;
/**
 * Tokens of images and audio as in the Clef models, the only ones for which the product documents them: images are scaled
 * to 65,536 to 1,048,576 pixels with sides in multiples of 32, and take one token per 32 x 32 pixels plus three; audio
 * takes 780 tokens per minute.
 */
const PATCH_PIXELS = 32;
const MIN_PIXELS = 65_536;
const MAX_PIXELS = 1_048_576;
const IMAGE_MARKERS = 3;
const TYPICAL_IMAGE_TOKENS = 1_024;
const TYPICAL_TOKENS_PER_SECOND = 13;
/** Used if the duration is unknown: audio at 16 kHz and 16 bits; compressed audio at 64 kbit/s; video at 1 Mbit/s. */
const TYPICAL_BYTES_PER_SECOND = { samples: 32_000, compressed: 8_000, video: 125_000 };
/** A PDF with some images. */
const FILE_BYTES_PER_TOKEN = 16;

/** The corners of one object, written by a model that is billed by tokens. */
export const OBJECT_TOKENS = 4;

export class Approximation implements Tally {
	readonly #text = new LongTokenCount();
	#others = 0;

	get tokens(): number {
		return this.#text.tokens + this.#others;
	}

	text(text: string): void {
		this.#text.add(text);
		this.#text.end();
	}

	json(value: unknown): void {
		writeJson(value, (piece) => this.#text.add(piece));
		this.#text.end();
	}

	opening(): void {
		this.#others += TYPICAL_OPENING;
	}

	markers(parts: number): void {
		this.#others += TYPICAL_MARKERS * parts;
	}

	image(size: Size | undefined): void {
		if (!size) {
			this.#others += TYPICAL_IMAGE_TOKENS;
			return;
		}
		const pixels = Math.max(1, size.width * size.height);
		const scale = Math.sqrt(Math.min(MAX_PIXELS, Math.max(MIN_PIXELS, pixels)) / pixels);
		const patches = (side: number): number => Math.max(1, Math.round((side * scale) / PATCH_PIXELS));
		const tokens = patches(size.width) * patches(size.height) + IMAGE_MARKERS;
		this.#others += Math.min(TYPICAL_IMAGE_TOKENS, tokens);
	}

	audio({ bytes, kind, seconds = bytes / TYPICAL_BYTES_PER_SECOND[kind] }: Sound): void {
		this.#others += Math.ceil(seconds * TYPICAL_TOKENS_PER_SECOND);
	}

	video(bytes: number): void {
		this.#others += Math.ceil((bytes / TYPICAL_BYTES_PER_SECOND.video) * VIDEO_TOKENS_PER_SECOND);
	}

	file(bytes: number): void {
		this.#others += Math.ceil(bytes / FILE_BYTES_PER_TOKEN);
	}
}
