/**
 * Adds up the tokens of a prompt, part by part: at most, for a reservation, and about, for a bill where the engine gave
 * no counts. Nothing is joined or serialised for it.
 *
 * `AtMost` holds for the tokenizers of the catalogue's models, which never make more tokens than a text has bytes, and
 * for templates that write JSON indented. What an engine spends on an image, a sound or a file is its own affair: the
 * numbers below are the most of the models that say.
 */
import type { Size } from "../models/neurons.ts";
import { TokenCount } from "../token-estimate.ts";
import { utf8Length, writeJson } from "./text.ts";

export interface Tally {
	readonly tokens: number;
	/** A whole text, which no other joins. */
	text(text: string): void;
	/** A value that the template writes as JSON. */
	json(value: unknown): void;
	/** What the template opens with, and the header of the reply. */
	opening(): void;
	/** What the template puts around so many messages, tools or lines of its own. */
	marks(parts: number): void;
	/** `undefined`: of a size that nobody knows. */
	image(size: Size | undefined): void;
	/** Bytes of a file; samples are larger than what was compressed. */
	sound(bytes: number, kind: "samples" | "compressed"): void;
	video(bytes: number): void;
	file(bytes: number): void;
}

/** The date, the knowledge's end, the channels of a reply (gpt-oss has the most to say). */
const MOST_OPENING = 256;
/** A role's header and a message's end. */
const MOST_MARKS = 16;
/** Of JSON, escaped and indented, for each byte of the shortest way to write it. */
const MOST_JSON_BYTES = 2;
/** Llama 3.2: four tiles of 1,601, however small the image. */
const LEAST_MOST_IMAGE_TOKENS = 6_500;
/** Qwen 2.5 VL: a token for 28 x 28 pixels, up to 12.8 million of them. */
const SMALLEST_PATCH_PIXELS = 28;
const MOST_IMAGE_TOKENS = 16_400;
/** Qwen 2 Audio, Ultravox. */
const MOST_TOKENS_A_SECOND = 25;
/** 8 kHz, 8 bits; 8 kbit/s; 100 kbit/s. */
const LEAST_BYTES_A_SECOND = { samples: 8_000, compressed: 1_000, video: 12_500 };
/** The Clef models: at most 15,400 a minute. */
const VIDEO_TOKENS_A_SECOND = 257;

export class AtMost implements Tally {
	#tokens = 0;

	get tokens(): number {
		return this.#tokens;
	}

	text(text: string): void {
		this.#tokens += utf8Length(text);
	}

	json(value: unknown): void {
		writeJson(value, (piece) => {
			this.#tokens += MOST_JSON_BYTES * utf8Length(piece);
		});
	}

	opening(): void {
		this.#tokens += MOST_OPENING;
	}

	marks(parts: number): void {
		this.#tokens += MOST_MARKS * parts;
	}

	image(size: Size | undefined): void {
		const patches = size
			? Math.ceil(size.width / SMALLEST_PATCH_PIXELS) * Math.ceil(size.height / SMALLEST_PATCH_PIXELS)
			: MOST_IMAGE_TOKENS;
		this.#tokens += Math.min(MOST_IMAGE_TOKENS, Math.max(LEAST_MOST_IMAGE_TOKENS, patches));
	}

	sound(bytes: number, kind: "samples" | "compressed"): void {
		this.#tokens += Math.ceil((bytes / LEAST_BYTES_A_SECOND[kind]) * MOST_TOKENS_A_SECOND);
	}

	video(bytes: number): void {
		this.#tokens += Math.ceil((bytes / LEAST_BYTES_A_SECOND.video) * VIDEO_TOKENS_A_SECOND);
	}

	/** Its text may be compressed, but then there is more than text in such a file. */
	file(bytes: number): void {
		this.#tokens += bytes;
	}
}

/** `<|im_start|>assistant\n` */
const USUAL_OPENING = 3;
/** `<|im_start|>user\n` … `<|im_end|>\n` */
const USUAL_MARKS = 4;
/**
 * Images and sound as the Clef models count them, the only ones whose counts the product documents: sides in multiples
 * of 32, of 65,536 pixels to 1,048,576, a token for 32 x 32 of them and three more; 780 tokens a minute of sound.
 */
const PATCH_PIXELS = 32;
const FEWEST_PIXELS = 65_536;
const MOST_PIXELS = 1_048_576;
const IMAGE_MARKS = 3;
const USUAL_MOST_IMAGE_TOKENS = 1_024;
const USUAL_TOKENS_A_SECOND = 13;
/** 16 kHz, 16 bits; 64 kbit/s; 1 Mbit/s. */
const USUAL_BYTES_A_SECOND = { samples: 32_000, compressed: 8_000, video: 125_000 };
/** Of a PDF with some pictures. */
const FILE_BYTES_PER_TOKEN = 16;

export class About implements Tally {
	readonly #text = new TokenCount();
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
		this.#others += USUAL_OPENING;
	}

	marks(parts: number): void {
		this.#others += USUAL_MARKS * parts;
	}

	image(size: Size | undefined): void {
		if (!size) {
			this.#others += USUAL_MOST_IMAGE_TOKENS;
			return;
		}
		const pixels = Math.max(1, size.width * size.height);
		const scale = Math.sqrt(Math.min(MOST_PIXELS, Math.max(FEWEST_PIXELS, pixels)) / pixels);
		const patches = (side: number): number => Math.max(1, Math.round((side * scale) / PATCH_PIXELS));
		const tokens = patches(size.width) * patches(size.height) + IMAGE_MARKS;
		this.#others += Math.min(USUAL_MOST_IMAGE_TOKENS, tokens);
	}

	sound(bytes: number, kind: "samples" | "compressed"): void {
		this.#others += Math.ceil((bytes / USUAL_BYTES_A_SECOND[kind]) * USUAL_TOKENS_A_SECOND);
	}

	video(bytes: number): void {
		this.#others += Math.ceil((bytes / USUAL_BYTES_A_SECOND.video) * VIDEO_TOKENS_A_SECOND);
	}

	file(bytes: number): void {
		this.#others += Math.ceil(bytes / FILE_BYTES_PER_TOKEN);
	}
}
