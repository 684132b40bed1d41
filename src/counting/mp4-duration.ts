/**
 * Reads the duration of the audio in an MP4 file (M4A, QuickTime): ISO/IEC 14496-12. The headers of the track have it; a
 * fragmented file may have it only in its fragments. No sample is read.
 */

/** Offsets of a box's contents. */
interface Box {
	start: number;
	end: number;
}

/** In one parent. A file of four hours in fragments of half a second has 60,000. */
const MAX_BOXES = 100_000;
const HEAD_BYTES = 8;
const LARGE_HEAD_BYTES = 16;
/** The value of a field that its writer did not know. */
const UNKNOWN = 0xffff_ffff;

/** `undefined` if the file has no track with audio, or if its duration is unknown. */
export function mp4Seconds(bytes: Uint8Array): number | undefined {
	const file = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const complete = { start: 0, end: bytes.length };
	try {
		const movie = childOf(file, complete, "moov");
		const track = movie && boxesOf(file, movie, "trak").find((each) => isAudio(file, each));
		const header = track && childOf(file, track, "mdia", "mdhd");
		if (!header) return undefined;
		const units = headerUnits(file, header) || fragmentUnits(file, complete, movie, track);
		const seconds = units / file.getUint32(header.start + (isLong(file, header) ? 20 : 12));
		return seconds > 0 && Number.isFinite(seconds) ? seconds : undefined;
	} catch (error) {
		// The file ends inside a field.
		if (error instanceof RangeError) return undefined;
		throw error;
	}
}

function boxesOf(file: DataView, parent: Box, type: string): Box[] {
	const boxes: Box[] = [];
	let at = parent.start;
	for (let read = 0; read < MAX_BOXES && at + HEAD_BYTES <= parent.end; read++) {
		const declared = file.getUint32(at);
		const head = declared === 1 ? LARGE_HEAD_BYTES : HEAD_BYTES;
		const length = declared === 1 ? Number(file.getBigUint64(at + HEAD_BYTES)) : declared;
		// 0: the last box, up to the end.
		const end = declared === 0 ? parent.end : Math.min(at + length, parent.end);
		if (end < at + head) break;
		if (textAt(file, at + 4) === type) boxes.push({ start: at + head, end });
		at = end;
	}
	return boxes;
}

const childOf = (file: DataView, parent: Box, ...path: string[]): Box | undefined =>
	path.reduce<Box | undefined>((box, type) => box && boxesOf(file, box, type)[0], parent);

const textAt = (file: DataView, at: number): string =>
	String.fromCharCode(file.getUint8(at), file.getUint8(at + 1), file.getUint8(at + 2), file.getUint8(at + 3));

function isAudio(file: DataView, track: Box): boolean {
	const handler = childOf(file, track, "mdia", "hdlr");
	return handler !== undefined && textAt(file, handler.start + 8) === "soun";
}

/** Version 1 of a header has 64 bits for each time. */
const isLong = (file: DataView, header: Box): boolean => file.getUint8(header.start) === 1;

/** The `duration` of `mdhd`. 0 if unknown. */
function headerUnits(file: DataView, header: Box): number {
	if (isLong(file, header)) {
		const units = file.getBigUint64(header.start + 24);
		return units === 2n ** 64n - 1n ? 0 : Number(units);
	}
	const units = file.getUint32(header.start + 16);
	return units === UNKNOWN ? 0 : units;
}

/** The samples' durations of all fragments of a track. */
function fragmentUnits(file: DataView, complete: Box, movie: Box, track: Box): number {
	const header = childOf(file, track, "tkhd");
	if (!header) return 0;
	const id = file.getUint32(header.start + (isLong(file, header) ? 20 : 12));
	const defaults = boxesOf(file, childOf(file, movie, "mvex") ?? { start: 0, end: 0 }, "trex");
	const ofTrack = defaults.find((each) => file.getUint32(each.start + 4) === id);
	const unitsPerSample = ofTrack ? file.getUint32(ofTrack.start + 12) : 0;
	return boxesOf(file, complete, "moof")
		.flatMap((fragment) => boxesOf(file, fragment, "traf"))
		.reduce((sum, part) => sum + runUnits(file, part, id, unitsPerSample), 0);
}

/** The durations of a `traf` box's samples. 0 if it belongs to another track. */
function runUnits(file: DataView, part: Box, id: number, unitsPerSample: number): number {
	const header = childOf(file, part, "tfhd");
	if (!header || file.getUint32(header.start + 4) !== id) return 0;
	const flags = file.getUint32(header.start);
	const at = header.start + 8 + (flags & 1 ? 8 : 0) + (flags & 2 ? 4 : 0);
	const sampleUnits = flags & 8 ? file.getUint32(at) : unitsPerSample;
	return boxesOf(file, part, "trun").reduce((sum, run) => sum + sampleRun(file, run, sampleUnits), 0);
}

function sampleRun(file: DataView, run: Box, sampleUnits: number): number {
	const flags = file.getUint32(run.start);
	const samples = file.getUint32(run.start + 4);
	if ((flags & 0x100) === 0) return samples * sampleUnits;
	const row = 4 + [0x200, 0x400, 0x800].filter((flag) => flags & flag).length * 4;
	let at = run.start + 8 + (flags & 1 ? 4 : 0) + (flags & 4 ? 4 : 0);
	let units = 0;
	for (; at + row <= run.end; at += row) units += file.getUint32(at);
	return units;
}
