/** A close frame of the guard that waits for the end of an answer's frame. */
import { beforeEach, expect, it, vi } from "vitest";
import { socketBytesOf } from "../../scripts/connections/caller-frames.ts";
import type { Lingering } from "../../scripts/connections/lingering.ts";
import { WebsocketFrames } from "../../scripts/connections/websocket-frames.ts";

const MIB = 1024 * 1024;
/** An answer of 100 bytes, without a mask. */
const ANSWER = Buffer.concat([Buffer.from([0x82, 100]), Buffer.alloc(100, "x")]);
/** With an unknown opcode. */
const MALFORMED = Buffer.from([0x83, 0x80, 0, 0, 0, 0]);

let at = 0;
beforeEach(() => {
	at = 0;
});

/** The caller is refused within an answer, of which so many bytes are written. */
function refused({ written }: { written: number }) {
	const end = vi.fn<(frame: Buffer, lingering: Lingering) => void>();
	const write = vi.fn<(bytes: Buffer) => void>();
	const connection = { address: "10.0.0.1", reading: { readLater: vi.fn() }, forward: vi.fn(), write, end };
	const context = { now: () => at, socketBytes: socketBytesOf(MIB) };
	const frames = new WebsocketFrames(context, connection, ANSWER.subarray(0, written));
	frames.receive(MALFORMED);
	return { frames, end, write };
}

it("what the caller sends before and after its close frame counts together", () => {
	const { frames, end, write } = refused({ written: 50 });
	expect(frames.receive(Buffer.alloc(20 * MIB))).toBe(false);
	expect(end).not.toHaveBeenCalled();
	frames.pass(Buffer.concat([ANSWER.subarray(50), ANSWER]));
	expect(write.mock.calls).toEqual([[ANSWER.subarray(50)]]);
	const [frame, lingering] = end.mock.lastCall ?? [];
	expect(frame?.[0]).toBe(0x88);
	expect(lingering?.drop(10 * MIB, at)).toBe(false);
	expect(lingering?.drop(3 * MIB, at)).toBe(true);
});

it("the connection is over 10 seconds after the last bytes of an answer's frame that is not completed", () => {
	const { frames, end } = refused({ written: 1 });
	at = 8_000;
	frames.pass(ANSWER.subarray(1, 50));
	expect([frames.isOver(18_000), frames.isOver(18_001)]).toEqual([false, true]);
	expect(end).not.toHaveBeenCalled();
});

it("a connection whose caller is not refused is not over", () => {
	const { frames, end } = refused({ written: 0 });
	expect(end).toHaveBeenCalledTimes(1);
	expect(frames.isOver(100_000)).toBe(false);
});
