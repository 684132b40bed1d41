/**
 * A PNG made safe to decode (W3C PNG, third edition).
 *
 * A few kilobytes can inflate to gigabytes, in the pixels as well as in a colour profile. So: read the header, keep
 * only the chunks that pixels are made of, and inflate those once, counting, before a decoder sees them.
 */
const SIGNATURE = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const CHUNK_FRAME_BYTES = 12;
/** Encoders that cut the pixels small make a few thousand. */
const MAX_CHUNKS = 20_000;
const HEADER_LENGTH = 13;
const KEPT = new Set(["PLTE", "tRNS", "IDAT"]);
/** Empty chunk with its check sum. */
const END = new Uint8Array([0, 0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82]);
const CHANNELS: Record<number, number> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
/** Adam7 adds filter bytes and padding to the rows of its seven passes. */
const INTERLACE_SLACK = 1.3;
const INTERLACE_SLACK_BYTES = 1024;
/** Deflate grows a thousandfold at most, so this much in is a few megabytes out. */
const INFLATE_STEP_BYTES = 4096;

export interface PngFacts {
	width: number;
	height: number;
	/** Bits a channel. */
	depth: number;
	interlaced: boolean;
	/** Bytes of the pixels, inflated. */
	rawBytes: number;
	/** The file without what pixels do not need. */
	essential: Uint8Array<ArrayBuffer>[];
	/** The compressed pixels alone. */
	data: Uint8Array<ArrayBuffer>[];
}

export const isPng = (bytes: Uint8Array): boolean => SIGNATURE.every((byte, i) => bytes[i] === byte);

export function readPngFacts(bytes: Uint8Array<ArrayBuffer>): PngFacts | undefined {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const nameAt = (offset: number) => String.fromCharCode(...bytes.subarray(offset + 4, offset + 8));
	const first = SIGNATURE.length;
	const firstEnd = first + CHUNK_FRAME_BYTES + HEADER_LENGTH;
	if (bytes.length < firstEnd || nameAt(first) !== "IHDR" || view.getUint32(first) !== HEADER_LENGTH) return;
	const width = view.getUint32(first + 8);
	const height = view.getUint32(first + 12);
	const depth = view.getUint8(first + 16);
	const channels = CHANNELS[view.getUint8(first + 17)];
	const interlaced = view.getUint8(first + 20) !== 0;
	if (width === 0 || height === 0 || channels === undefined) return;
	const rawBytes = height * (1 + Math.ceil((width * channels * depth) / 8));

	const facts: PngFacts = {
		...{ width, height, depth, interlaced, rawBytes },
		essential: [bytes.subarray(0, firstEnd)],
		data: [],
	};
	let chunks = 0;
	for (let offset = firstEnd; offset + CHUNK_FRAME_BYTES <= bytes.length; ) {
		if (++chunks > MAX_CHUNKS) return;
		const name = nameAt(offset);
		const end = offset + CHUNK_FRAME_BYTES + view.getUint32(offset);
		if (name === "IEND" || end > bytes.length) break;
		if (KEPT.has(name)) facts.essential.push(bytes.subarray(offset, end));
		if (name === "IDAT") facts.data.push(bytes.subarray(offset + 8, end - 4));
		offset = end;
	}
	facts.essential.push(END);
	return facts;
}

/** Whether the pixels inflate to no more than the header promises. Rejects where they do not inflate at all. */
export async function inflatesAsPromised({ data, rawBytes, interlaced }: PngFacts): Promise<boolean> {
	const limit = interlaced ? rawBytes * INTERLACE_SLACK + INTERLACE_SLACK_BYTES : rawBytes;
	const compressed = new Blob(data);
	let sent = 0;
	const steps = new ReadableStream<Uint8Array<ArrayBuffer>>({
		async pull(controller) {
			if (sent >= compressed.size) return controller.close();
			const step = compressed.slice(sent, sent + INFLATE_STEP_BYTES);
			sent += INFLATE_STEP_BYTES;
			controller.enqueue(new Uint8Array(await step.arrayBuffer()));
		},
	});
	let inflated = 0;
	for await (const piece of steps.pipeThrough(new DecompressionStream("deflate"))) {
		inflated += piece.byteLength;
		if (inflated > limit) return false;
	}
	return inflated > 0;
}
