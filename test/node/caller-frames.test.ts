/** The bounds of what a caller sends to a websocket, with frames of the test's own encoder (RFC 6455, section 5.2). */
import fc from "fast-check";
import { beforeEach, expect, it } from "vitest";
import { CallerFrames, socketBytesOf } from "../../scripts/connections/caller-frames.ts";
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

let held: SharedCount;
let passed = 0;
const pace = { passedFrames: (count: number) => (passed += count) };
const framesOf = (address = ADDRESS): CallerFrames => new CallerFrames(held, address, pace);
const used = (): number => held.report().used;

beforeEach(() => {
	held = socketBytesOf(MAX_BYTES);
	passed = 0;
});

it("holds the bytes of a message until it is complete, however its frames are divided", () => {
	const size = fc.oneof(fc.nat(130), fc.constantFrom(125, 126, 65_535, 65_536, 70_000));
	const part = fc.record({ size, isMasked: fc.boolean(), pings: fc.array(fc.nat(125), { maxLength: 2 }) });
	const property = fc.property(
		fc.array(fc.array(part, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
		fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1 }),
		(messages, cuts) => {
			const frames = framesOf();
			passed = 0;
			let sent = 0;
			for (const parts of messages) {
				let complete = 0;
				for (const [index, { size, isMasked, pings }] of parts.entries()) {
					const isLast = index === parts.length - 1;
					const opcode = index === 0 ? TEXT : CONTINUATION;
					const before = pings.map((size) => encoded({ opcode: PING, isLast: true, size, isMasked }));
					const bytes = Buffer.concat([...before, encoded({ opcode, isLast, size, isMasked })]);
					sent += pings.length + 1;
					for (let at = 0, cut = 0; at < bytes.length; cut++) {
						const end = at + (cuts[cut % cuts.length] ?? 1);
						expect(frames.mayPass(bytes.subarray(at, end))).toBe(true);
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

it("refuses a message of more than 4,096 parts, also empty ones, and no number of messages", () => {
	const message = encoded({ opcode: TEXT, isLast: true, size: 0 });
	const frames = framesOf();
	expect(frames.mayPass(Buffer.concat(Array(10_000).fill(message)))).toBe(true);
	const part = encoded({ opcode: TEXT, isLast: false, size: 0 });
	expect(frames.mayPass(Buffer.concat(Array(4_096).fill(part)))).toBe(true);
	expect(frames.mayPass(encoded({ opcode: PING, isLast: true, size: 0 }))).toBe(true);
	expect(frames.mayPass(encoded({ opcode: CONTINUATION, isLast: true, size: 0 }))).toBe(false);
});

it("refuses what has no space, and leaves a part to other addresses", () => {
	const large = encoded({ opcode: TEXT, isLast: false, size: 400_000 });
	const first = framesOf();
	expect(first.mayPass(large)).toBe(true);
	const second = framesOf();
	expect(second.mayPass(large)).toBe(false);
	second.end();
	expect(used()).toBe(400_000);
	const other = framesOf("10.0.0.2");
	expect(other.mayPass(encoded({ opcode: TEXT, isLast: false, size: 300_000 }))).toBe(true);
	expect(held.report()).toMatchObject({ used: 700_000, refused: 1 });
	first.end();
	other.end();
	expect(used()).toBe(0);
});
