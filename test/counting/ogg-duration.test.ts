import { parseBuffer } from "music-metadata";
import { describe, expect, it } from "vitest";
import { oggSeconds } from "../../src/counting/ogg-duration.ts";
import { concat } from "../../src/media/bytes.ts";

const latin1 = (text: string): Uint8Array => Uint8Array.from([...text].map((letter) => letter.charCodeAt(0)));

interface Page {
	type?: number;
	position?: bigint;
	serial?: number;
	packet?: Uint8Array;
}

function page({ type = 0, position = 0n, serial = 7, packet = new Uint8Array(1) }: Page): Uint8Array {
	const head = new Uint8Array(28);
	const view = new DataView(head.buffer);
	head.set(latin1("OggS"));
	head[5] = type;
	view.setBigInt64(6, position, true);
	view.setUint32(14, serial, true);
	head[26] = 1;
	head[27] = packet.length;
	return concat([head, packet]);
}

/** 312 samples precede the audio. */
const OPUS = latin1("OpusHead\x01\x01\x38\x01\x80\xbb\0\0\0\0\0");
/** 44,100 Hz. */
const VORBIS = latin1("\x01vorbis\0\0\0\0\x02\x44\xac\0\0\0\0\0\0\0\xee\x02\0\0\0\0\0\xb8\x01");
/** 16,000 Hz. */
const SPEEX = latin1(`Speex   ${"1.2".padEnd(20, "\0")}\x01\0\0\0\x50\0\0\0\x80\x3e\0\0`);
/** 96,000 Hz: 0x17700 in 20 bits. */
const FLAC = latin1(
	`\x7fFLAC\x01\0\0\x01fLaC\0\0\0\x22\x10\0\x10\0\0\0\0\0\0\0\x17\x70\x03\xf0${"\0".repeat(20)}`,
);
/** The second page of Opus. */
const TAGS = latin1("OpusTags\0\0\0\0\0\0\0\0");

const file = (packet: Uint8Array, last: bigint, between: Uint8Array = page({})): Uint8Array<ArrayBuffer> =>
	concat([page({ type: 2, packet }), page({ packet: TAGS }), between, page({ type: 4, position: last })]);

describe("oggSeconds", () => {
	it.each([
		["Opus", OPUS, 48_000n * 60n + 312n, 60],
		["Vorbis", VORBIS, 44_100n * 3n, 3],
		["Speex", SPEEX, 8_000n, 0.5],
		["FLAC", FLAC, 96_000n * 2n, 2],
	])("%s", (_, packet, last, seconds) => {
		expect(oggSeconds(file(packet, last))).toBe(seconds);
	});

	it("is the duration that the library finds by reading all pages", async () => {
		const bytes = file(OPUS, 123_456n);
		const { format } = await parseBuffer(bytes, undefined, { duration: true });
		expect(format.duration).toBe(2.5655);
		expect(oggSeconds(bytes)).toBe(2.5655);
	});

	it("does not read the pages between the first and the last ones", () => {
		const hostile = new Uint8Array(20_000_000).fill(0x4f);
		expect(oggSeconds(file(OPUS, 48_312n, hostile))).toBe(1);
	});

	it("searches the last page in the last 256 KB", () => {
		const position = page({ position: 48_312n });
		const bytes = (tail: number) => concat([file(OPUS, -1n, position), new Uint8Array(tail)]);
		expect(oggSeconds(bytes(262_000))).toBe(1);
		expect(oggSeconds(bytes(263_000))).toBeUndefined();
	});

	it("skips pages within a packet, and pages of other streams", () => {
		const bytes = concat([
			page({ type: 2, serial: 1, packet: latin1("\x80theora") }),
			page({ type: 2, packet: OPUS }),
			page({ position: 96_312n }),
			page({ position: -1n }),
			page({ serial: 1, position: 9n }),
			latin1("OggS"),
		]);
		expect(oggSeconds(bytes)).toBe(2);
	});

	it.each([
		["without audio", concat([page({ type: 2, packet: latin1("\x80theora") }), page({ position: 9n })])],
		["of ten other streams", concat([...Array(10).fill(page({ type: 2 })), file(OPUS, 48_312n)])],
		["whose first page does not begin a stream", concat([page({}), file(OPUS, 48_312n)])],
		["without samples", file(OPUS, 312n)],
		[
			"without a rate",
			file(
				VORBIS.map((byte, i) => (i === 12 || i === 13 ? 0 : byte)),
				9n,
			),
		],
		["without positions", file(OPUS, -1n, page({ position: -1n }))],
		["whose codec is cut", page({ type: 2, packet: OPUS }).subarray(0, 39)],
		["whose page is cut", page({ type: 2, packet: OPUS }).subarray(0, 20)],
	])("undefined for a file %s", (_, bytes) => {
		expect(oggSeconds(bytes)).toBeUndefined();
	});

	it("accepts nine other streams before the audio", () => {
		expect(oggSeconds(concat([...Array(9).fill(page({ type: 2 })), file(OPUS, 48_312n)]))).toBe(1);
	});
});
