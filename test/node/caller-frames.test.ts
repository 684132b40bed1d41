/** The bounds of what a caller sends to a websocket, with frames of the test's own encoder (RFC 6455, section 5.2). */
import fc from "fast-check";
import { beforeEach, expect, it } from "vitest";
import { CallerFrames, socketBytesOf } from "../../scripts/connections/caller-frames.ts";
import { runtimeSettings } from "../../scripts/settings.ts";
import type { SharedCount } from "../../src/core/shared-count.ts";

const MAX_BYTES = 1_000_000;
const TEXT = 1;
const CONTINUATION = 0;
const PING = 9;
const ADDRESS = "10.0.0.1";

interface Frame {
	opcode: number;
	isLast: boolean;
	size: number;
	isMasked?: boolean;
}

function encoded({ opcode, isLast, size, isMasked = true }: Frame): Buffer {
	const length =
		size < 126
			? [size]
			: size < 65_536
				? [126, size >> 8, size & 0xff]
				: [127, 0, 0, 0, 0, size >>> 24, (size >> 16) & 0xff, (size >> 8) & 0xff, size & 0xff];
	const [short = 0, ...long] = length;
	const head = [(isLast ? 0x80 : 0) + opcode, short + (isMasked ? 0x80 : 0), ...long];
	return Buffer.concat([Buffer.from(head), Buffer.alloc(isMasked ? 4 : 0, 0xa5), Buffer.alloc(size, 0x81)]);
}

/** Beyond the frames at once, so that the clock lets the next ones pass. */
const LATER_MS = 10_000;

let held: SharedCount;
let passed = 0;
let at = 0;
const used = (): number => held.report().used;

interface Caller {
	frames: CallerFrames;
	/** What reaches the runtime. */
	forwarded: Buffer[];
	/** The close frame. */
	closed?: Buffer;
	/** What is read again. */
	later?: { bytes: Buffer; ms: number };
	/** Returns whether all of it has passed. */
	send(bytes: Buffer): boolean;
}

function callerOf(address = ADDRESS): Caller {
	const connection = {
		address,
		reading: {
			readLater(bytes: Buffer, ms: number) {
				caller.later = { bytes, ms };
			},
		},
		forward(bytes: Buffer, frames: number) {
			caller.forwarded.push(bytes);
			passed += frames;
		},
		end(close: Buffer) {
			caller.closed = close;
		},
	};
	const frames = new CallerFrames({ socketBytes: held, now: () => at }, connection);
	const caller: Caller = {
		...{ frames, forwarded: [] },
		send(bytes) {
			at += LATER_MS;
			const before = caller.forwarded.length;
			frames.receive(bytes);
			for (let { later } = caller; later && !caller.closed; later = caller.later) {
				delete caller.later;
				at += later.ms;
				frames.receive(later.bytes);
			}
			const sent = Buffer.concat(caller.forwarded.slice(before));
			return !caller.closed && sent.equals(bytes);
		},
	};
	return caller;
}

/** Code and reason of a close frame of a server, which has no mask. */
function closeOf({ closed }: Caller): [number, string] | undefined {
	if (!closed) return undefined;
	expect(closed.subarray(0, 2)).toEqual(Buffer.from([0x88, closed.length - 2]));
	return [closed.readUInt16BE(2), closed.subarray(4).toString()];
}

beforeEach(() => {
	held = socketBytesOf(MAX_BYTES);
	passed = 0;
	at = 0;
});

it("holds the bytes of a message until it is complete, however its frames are divided", () => {
	const size = fc.oneof(fc.nat(130), fc.constantFrom(125, 126, 65_535, 65_536, 70_000));
	const part = fc.record({ size, pings: fc.array(fc.nat(125), { maxLength: 2 }) });
	const property = fc.property(
		fc.array(fc.array(part, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
		fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1 }),
		(messages, cuts) => {
			const caller = callerOf();
			passed = 0;
			let sent = 0;
			for (const parts of messages) {
				let complete = 0;
				for (const [index, { size, pings }] of parts.entries()) {
					const isLast = index === parts.length - 1;
					const opcode = index === 0 ? TEXT : CONTINUATION;
					const before = pings.map((size) => encoded({ opcode: PING, isLast: true, size }));
					const bytes = Buffer.concat([...before, encoded({ opcode, isLast, size })]);
					sent += pings.length + 1;
					for (let at = 0, cut = 0; at < bytes.length; cut++) {
						const end = at + (cuts[cut % cuts.length] ?? 1);
						expect(caller.send(bytes.subarray(at, end))).toBe(true);
						at = end;
					}
					complete += size;
					expect(used()).toBe(isLast ? 0 : complete);
				}
			}
			expect(passed).toBe(sent);
		},
	);
	fc.assert(property, { numRuns: 50 });
});

it("needs no extension of frames: the runtime agrees to no compression", () => {
	expect(runtimeSettings().compatibilityFlags).toContain("no_web_socket_compression");
});

const TOO_LARGE = [1009, "a message has at most 32 MiB and 4,096 parts"];
const MALFORMED = [
	1002,
	"the frame cannot be read: send it with a mask, and without compression or other extensions",
];

it.each([
	["a text", { opcode: TEXT, isLast: true, size: 5 }],
	["a large text", { opcode: TEXT, isLast: true, size: 70_000 }],
	["a ping", { opcode: PING, isLast: true, size: 5 }],
])("closes after %s without a mask, of which nothing passes", (_, frame) => {
	const caller = callerOf();
	expect(caller.send(encoded({ ...frame, isMasked: false }))).toBe(false);
	expect(closeOf(caller)).toEqual(MALFORMED);
	expect(Buffer.concat(caller.forwarded)).toHaveLength(0);
	expect(used()).toBe(0);
});

it("closes after a message of more than 4,096 parts, also empty ones, and after no number of messages", () => {
	const caller = callerOf();
	const message = encoded({ opcode: TEXT, isLast: true, size: 0 });
	for (let i = 0; i < 20; i++) expect(caller.send(Buffer.concat(Array(500).fill(message)))).toBe(true);
	expect(caller.send(encoded({ opcode: TEXT, isLast: false, size: 0 }))).toBe(true);
	const part = encoded({ opcode: CONTINUATION, isLast: false, size: 0 });
	for (let i = 0; i < 13; i++) expect(caller.send(Buffer.concat(Array(315).fill(part)))).toBe(true);
	expect(caller.send(encoded({ opcode: PING, isLast: true, size: 0 }))).toBe(true);
	expect(caller.send(encoded({ opcode: CONTINUATION, isLast: true, size: 0 }))).toBe(false);
	expect(closeOf(caller)).toEqual(TOO_LARGE);
});

it("closes for what has no space, and leaves a part to other addresses", () => {
	const large = encoded({ opcode: TEXT, isLast: false, size: 400_000 });
	const first = callerOf();
	expect(first.send(large)).toBe(true);
	const second = callerOf();
	expect(second.send(large)).toBe(false);
	expect(closeOf(second)).toEqual([1013, "there is no space for the message, please try again"]);
	second.frames.end();
	expect(used()).toBe(400_000);
	const other = callerOf("10.0.0.2");
	expect(other.send(encoded({ opcode: TEXT, isLast: false, size: 300_000 }))).toBe(true);
	expect(held.report()).toMatchObject({ used: 700_000, refused: 1 });
	first.frames.end();
	other.frames.end();
	expect(used()).toBe(0);
});

it("passes 500 frames at once and 2,000 in a second, and reads the others later from the first byte of a frame", () => {
	const caller = callerOf();
	const frame = encoded({ opcode: TEXT, isLast: true, size: 1 });
	let rest = Buffer.concat(Array(3_000).fill(frame));
	const started = at;
	for (let reads = 0; rest.length > 0 && reads < 1_000; reads++) {
		delete caller.later;
		const before = caller.forwarded.length;
		caller.frames.receive(rest);
		// All callers of a runtime that is behind wait for what passes at once.
		expect(Buffer.concat(caller.forwarded.slice(before)).length).toBeLessThanOrEqual(50 * frame.length);
		const { later } = caller as Caller;
		const passedBytes = Buffer.concat(caller.forwarded).length;
		expect(passedBytes % frame.length).toBe(0);
		expect(passedBytes / frame.length).toBeLessThanOrEqual(501 + 2 * (at - started));
		if (!later) break;
		expect(later.ms).toBeGreaterThanOrEqual(10);
		rest = later.bytes;
		at += later.ms;
	}
	expect(Buffer.concat(caller.forwarded).length).toBe(3_000 * frame.length);
	expect(caller.closed).toBeUndefined();
	// 2,500 frames beyond those at once.
	expect(at - started).toBeGreaterThanOrEqual(1_240);
	expect(at - started).toBeLessThan(1_400);
});

it("passes 50 frames together, also if they arrive in segments", () => {
	const caller = callerOf();
	const frame = encoded({ opcode: TEXT, isLast: true, size: 1 });
	const segment = Buffer.concat(Array(49).fill(frame));
	for (let i = 0; i < 10; i++) caller.frames.receive(segment);
	expect(passed).toBe(50);
	expect(Buffer.concat(caller.forwarded).length).toBe(50 * frame.length);
	at += 10;
	caller.frames.receive(segment);
	expect(passed).toBe(99);
});

const RESERVED_BITS = [0x40, 0x20, 0x10];

it.each<[string, Buffer[], unknown]>([
	...RESERVED_BITS.map((bit): [string, Buffer[], unknown] => {
		const frame = encoded({ opcode: TEXT, isLast: true, size: 2 });
		frame[0] = (frame[0] ?? 0) | bit;
		return [`the reserved bit ${bit}`, [frame], MALFORMED];
	}),
	...[3, 7, 11, 15].map((opcode): [string, Buffer[], unknown] => [
		`the opcode ${opcode}`,
		[encoded({ opcode, isLast: true, size: 0 })],
		MALFORMED,
	]),
	["a continuation of nothing", [encoded({ opcode: CONTINUATION, isLast: true, size: 1 })], MALFORMED],
	[
		"a message within another one",
		[encoded({ opcode: TEXT, isLast: false, size: 1 }), encoded({ opcode: TEXT, isLast: true, size: 1 })],
		MALFORMED,
	],
	["a ping in parts", [encoded({ opcode: PING, isLast: false, size: 1 })], MALFORMED],
	["a ping of 126 bytes", [encoded({ opcode: PING, isLast: true, size: 126 })], MALFORMED],
	["a close of 200 bytes", [encoded({ opcode: 8, isLast: true, size: 200 })], MALFORMED],
	[
		"a length of 32 MiB and a byte",
		[Buffer.from([0x82, 0xff, 0, 0, 0, 0, 2, 0, 0, 1, 0, 0, 0, 0])],
		TOO_LARGE,
	],
	["a length of 2^64 - 1", [Buffer.from([0x81, 0xff, ...Array(8).fill(255), 0, 0, 0, 0])], TOO_LARGE],
])("closes after %s, and passes nothing of the frame on, but those before it", (_, frames, close) => {
	const divided = callerOf();
	for (const frame of frames) divided.send(frame);
	expect(closeOf(divided)).toEqual(close);
	expect(divided.forwarded).toEqual(frames.slice(0, -1));
	const caller = callerOf();
	const before = [encoded({ opcode: TEXT, isLast: true, size: 300 }), ...frames.slice(0, -1)];
	const behind = encoded({ opcode: PING, isLast: true, size: 0 });
	caller.send(Buffer.concat([...before, ...frames.slice(-1), behind]));
	expect(closeOf(caller)).toEqual(close);
	expect(Buffer.concat(caller.forwarded)).toEqual(Buffer.concat(before));
	expect(passed).toBe(frames.length - 1 + before.length);
});

it("passes the frames before one that has no space", () => {
	const caller = callerOf();
	const before = encoded({ opcode: TEXT, isLast: true, size: 300 });
	caller.send(Buffer.concat([before, encoded({ opcode: TEXT, isLast: false, size: MAX_BYTES + 1 })]));
	expect(closeOf(caller)?.[0]).toBe(1013);
	expect(Buffer.concat(caller.forwarded)).toEqual(before);
});

it("passes the largest message, and a control frame of 125 bytes within it", () => {
	held = socketBytesOf(100_000_000);
	const caller = callerOf();
	const header = Buffer.from([0x02, 0xff, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
	expect(caller.send(Buffer.concat([header, Buffer.alloc(0x1ffffff)]))).toBe(true);
	expect(caller.send(encoded({ opcode: PING, isLast: true, size: 125 }))).toBe(true);
	expect(caller.send(encoded({ opcode: CONTINUATION, isLast: true, size: 1 }))).toBe(true);
	expect(used()).toBe(0);
});
