/**
 * Text to image: a two-coloured surface with the word SIMULATED in its corner, as a real PNG or JPEG of exactly the
 * requested size. The colours depend on the complete input, images included, so the same input gives the same bytes and
 * another input a different image. The file's metadata says that it is simulated, and never has the prompt.
 */
import { encode as encodePng } from "fast-png";
import { encode as encodeJpeg } from "jpeg-js";
import { AiError } from "../../../core/errors.ts";
import { own } from "../../../core/own.ts";
import type { Media } from "../../../media/media.ts";
import type { ImageInput } from "../../../tasks/text-to-image/index.ts";
import { measureImage } from "./measure-image.ts";
import { NOTICE, SOFTWARE } from "./notice.ts";

const MAX_PIXELS = 2 ** 24;
const JPEG_QUALITY = 88;
const PNG_LEVEL = 3;

export async function textToImage(input: ImageInput): Promise<Media> {
	const { width, height, images, mask } = input;
	if (!(width >= 1 && height >= 1 && Number.isInteger(width) && Number.isInteger(height)))
		throw new AiError("invalidInput", "width and height must be whole numbers of at least 1.");
	if (width * height > MAX_PIXELS)
		throw new AiError("invalidInput", `width times height must be at most ${MAX_PIXELS}.`);
	for (const [index, image] of images.entries()) measureImage(image.bytes, `image[${index}]`);
	if (mask) measureImage(mask.bytes, "mask");
	const [lower, upper] = await coloursOf(input);
	const canvas = { width, height, pixels: new Uint32Array(width * height) };
	for (let y = 0; y < height; y++) {
		// Two triangles.
		const split = Math.round(((y + 1) * width) / height);
		canvas.pixels.fill(lower, y * width, y * width + split).fill(upper, y * width + split, (y + 1) * width);
	}
	writeLabel(canvas);
	return input.format === "png" ? png(canvas) : jpeg(canvas);
}

const OPAQUE = 0xff000000;
const WHITE = 0xffffffff;

/** Two dark colours, which contrast with white letters, from a hash of what the image depends on. */
async function coloursOf(input: ImageInput): Promise<[number, number]> {
	const { images, mask, format: _, extensions: __, ...fields } = input;
	const parts = [JSON.stringify(fields), ...images.map(({ bytes }) => bytes), ...(mask ? [mask.bytes] : [])];
	const hash = new DataView(await crypto.subtle.digest("SHA-256", await new Blob(parts).arrayBuffer()));
	const colourAt = (offset: number) => (hash.getUint32(offset) & 0x7f7f7f) | OPAQUE;
	return [colourAt(0), colourAt(4)];
}

/** Five by seven, a row a number, the leftmost pixel the highest bit. */
const LETTERS: Record<string, readonly number[]> = {
	S: [0b01111, 0b10000, 0b10000, 0b01110, 0b00001, 0b00001, 0b11110],
	I: [0b11111, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b11111],
	M: [0b10001, 0b11011, 0b10101, 0b10101, 0b10001, 0b10001, 0b10001],
	U: [0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110],
	L: [0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b11111],
	A: [0b01110, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001],
	T: [0b11111, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100],
	E: [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b11111],
	D: [0b11110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b11110],
};
const LABEL = "SIMULATED";
const LETTER_WIDTH = 5;
const LETTER_HEIGHT = 7;

interface Canvas {
	width: number;
	height: number;
	/** In memory red, green, blue, opacity: machines that run this are little-endian. */
	pixels: Uint32Array;
}

/** In the lower left corner, half as wide as the image where the pixels suffice; cut at its edges where not. */
function writeLabel({ width, height, pixels }: Canvas): void {
	const scale = Math.max(1, Math.floor(width / 2 / (LABEL.length * (LETTER_WIDTH + 1))));
	const top = Math.max(0, height - (LETTER_HEIGHT + 2) * scale);
	const left = 2 * scale;
	for (let y = 0; y < LETTER_HEIGHT * scale && top + y < height; y++)
		for (let x = 0; x < LABEL.length * (LETTER_WIDTH + 1) * scale && left + x < width; x++) {
			const column = Math.floor(x / scale);
			const letter = own(LETTERS, LABEL[Math.floor(column / (LETTER_WIDTH + 1))]);
			const row = letter?.[Math.floor(y / scale)] ?? 0;
			if ((row >> (LETTER_WIDTH - 1 - (column % (LETTER_WIDTH + 1)))) & 1)
				pixels[(top + y) * width + left + x] = WHITE;
		}
}

const bytesOf = ({ pixels }: Canvas) => new Uint8Array(pixels.buffer);

function png(canvas: Canvas): Media {
	const { width, height } = canvas;
	const text = { Software: SOFTWARE, Comment: NOTICE, simulated: "true" };
	const file = encodePng(
		{ width, height, data: bytesOf(canvas), channels: 4, depth: 8, text },
		{ zlib: { level: PNG_LEVEL } },
	);
	return { bytes: new Uint8Array(file), contentType: "image/png" };
}

function jpeg(canvas: Canvas): Media {
	const { width, height } = canvas;
	const file = encodeJpeg(
		{ width, height, data: bytesOf(canvas), comments: [SOFTWARE, NOTICE] },
		JPEG_QUALITY,
	);
	return { bytes: new Uint8Array(file.data), contentType: "image/jpeg" };
}
