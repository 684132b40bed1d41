/**
 * The images inside of a document that models are to describe. A conversion only marks their places, because it calls no model:
 * `describe-embedded.ts` replaces the marks by descriptions.
 */
import { decodeBase64 } from "../../media/base64.ts";
import { ConversionFailure } from "./work.ts";

/** The product's limit for each file. */
const MAX_EMBEDDED_IMAGES = 10;
const MAX_EMBEDDED_BYTES = 8 * 1024 * 1024;

export interface EmbeddedImage {
	/** Where the description belongs in the text. */
	mark: string;
	mimeType: string;
	bytes: Uint8Array;
	/** The document's own text for the image. */
	alt: string;
}

/** Private-use characters, which no writer of Markdown escapes. Text of the file with them can only show one of its own images. */
const mark = (index: number): string => `\uE0F0${index}\uE0F1`;

const DATA_URL = /^data:(image\/(?:png|jpe?g|webp|gif|bmp));base64,/i;

export class EmbeddedImages {
	readonly found: EmbeddedImage[] = [];
	readonly #max: number;
	/** Images that a document's HTML names by an address of this class. */
	readonly #stored = new Map<string, { mimeType: string; bytes: Uint8Array }>();
	#bytes = 0;

	/** `max`: 0 if the caller wants no descriptions. */
	constructor(max: number) {
		this.#max = max;
	}

	get isFull(): boolean {
		return this.found.length >= this.#max;
	}

	/** Returns the mark for the text. `undefined`: the image is not described. */
	add(mimeType: string, bytes: Uint8Array, alt = ""): string | undefined {
		if (this.isFull || !DATA_URL.test(`data:${mimeType};base64,`)) return undefined;
		this.#bytes += bytes.length;
		if (this.#bytes > MAX_EMBEDDED_BYTES)
			throw new ConversionFailure(
				`The images in the file are together larger than ${MAX_EMBEDDED_BYTES / 1024 / 1024} MB`,
			);
		const image = { mark: mark(this.found.length), mimeType: mimeType.toLowerCase(), bytes, alt };
		this.found.push(image);
		return image.mark;
	}

	/** An address for `<img src>` that {@link addSource} reads. */
	store(mimeType: string, bytes: Uint8Array): string {
		const address = `embedded:${this.#stored.size}`;
		if (!this.isFull) this.#stored.set(address, { mimeType, bytes });
		return address;
	}

	/** The same as {@link add} for the address of an image: `data:`, or one of {@link store}. */
	addSource(source: string, alt: string): string | undefined {
		const stored = this.#stored.get(source);
		if (stored) return this.add(stored.mimeType, stored.bytes, alt);
		const [prefix = "", type] = DATA_URL.exec(source) ?? [];
		if (!type || this.isFull) return undefined;
		const bytes = decodeBase64(source.slice(prefix.length));
		return bytes && this.add(type, bytes, alt);
	}
}

/** The number of images of a file that its options ask for. */
export function maxImages(
	options: { convert?: boolean | undefined; maxConvertedImages?: number | undefined } | undefined,
): number {
	if (options?.convert !== true) return 0;
	const { maxConvertedImages = MAX_EMBEDDED_IMAGES } = options;
	return Math.max(0, Math.min(Math.floor(maxConvertedImages), MAX_EMBEDDED_IMAGES));
}
