/** Reads the duration of the audio in a WebM or Matroska file from its headers: RFC 8794 (EBML), RFC 9559 (Matroska). */

interface Element {
	id: number;
	/** Offsets of its contents. */
	start: number;
	end: number;
}

/** Headers precede the clusters. A file has about ten of them. */
const MAX_ELEMENTS = 100;

const SEGMENT = 0x18538067;
const INFO = 0x1549a966;
const TIMESTAMP_SCALE = 0x2ad7b1;
const DURATION = 0x4489;
const TRACKS = 0x1654ae6b;
const TRACK = 0xae;
const TRACK_TYPE = 0x83;
const AUDIO = 2;
/** Nanoseconds. */
const DEFAULT_SCALE = 1_000_000;

/** `undefined` if the file has no audio, or if its writer did not know the duration (it streamed). */
export function webmSeconds(bytes: Uint8Array): number | undefined {
	const file = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const segment = childrenOf(file, { start: 0, end: bytes.length }).find(({ id }) => id === SEGMENT);
	if (!segment) return undefined;
	const headers = childrenOf(file, segment);
	const find = (parent: number) =>
		headers.filter(({ id }) => id === parent).flatMap((each) => childrenOf(file, each));
	const hasAudio = find(TRACKS)
		.filter(({ id }) => id === TRACK)
		.flatMap((track) => childrenOf(file, track))
		.some((field) => field.id === TRACK_TYPE && unsignedAt(file, field) === AUDIO);
	const info = find(INFO);
	const duration = info.find(({ id }) => id === DURATION);
	const scale = info.find(({ id }) => id === TIMESTAMP_SCALE);
	if (!hasAudio || !duration) return undefined;
	const seconds = (floatAt(file, duration) * (scale ? unsignedAt(file, scale) : DEFAULT_SCALE)) / 1e9;
	return seconds > 0 && Number.isFinite(seconds) ? seconds : undefined;
}

function childrenOf(file: DataView, parent: Pick<Element, "start" | "end">): Element[] {
	const children: Element[] = [];
	let at = parent.start;
	while (children.length < MAX_ELEMENTS && at < parent.end) {
		const id = variableAt(file, at);
		const size = id && variableAt(file, at + id.bytes);
		if (!id || !size) break;
		const start = at + id.bytes + size.bytes;
		// All ones: unknown, so the element ends with its parent.
		const isUnknown = size.value >= 2 ** (7 * size.bytes) - 1;
		const end = isUnknown ? parent.end : Math.min(start + size.value, parent.end);
		children.push({ id: id.marked, start, end });
		at = end;
	}
	return children;
}

/** An integer of 1 to 8 bytes. The zero bits in front of the first one say how many bytes follow. Identifiers keep that bit. */
function variableAt(
	file: DataView,
	at: number,
): { bytes: number; value: number; marked: number } | undefined {
	if (at >= file.byteLength) return undefined;
	const first = file.getUint8(at);
	const bytes = Math.clz32(first) - 23;
	if (bytes > 8 || at + bytes > file.byteLength) return undefined;
	const following = unsignedAt(file, { start: at + 1, end: at + bytes });
	const unit = 256 ** (bytes - 1);
	return {
		bytes,
		value: (first & (0xff >> bytes)) * unit + following,
		marked: first * unit + following,
	};
}

function unsignedAt(file: DataView, { start, end }: Pick<Element, "start" | "end">): number {
	let value = 0;
	for (let at = start; at < Math.min(end, start + 8); at++) value = value * 256 + file.getUint8(at);
	return value;
}

function floatAt(file: DataView, { start, end }: Element): number {
	return end - start === 4 ? file.getFloat32(start) : end - start === 8 ? file.getFloat64(start) : 0;
}
