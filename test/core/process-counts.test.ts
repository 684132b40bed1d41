import { describe, expect, it } from "vitest";
import { BufferHold, bufferedBytes } from "../../src/core/process-counts.ts";

const used = (): number => bufferedBytes.report().used;

describe("the bytes of a buffer", () => {
	it("are released once, and may grow again", () => {
		const before = used();
		const hold = new BufferHold("acme");
		hold.grow(100);
		expect(hold.tryGrow(20)).toBe(true);
		expect(used()).toBe(before + 120);
		hold.release();
		hold.release();
		hold.grow(5);
		expect(used()).toBe(before + 5);
		hold.release();
		expect(used()).toBe(before);
	});

	it.each([
		[
			"when its caller leaves",
			(hold: BufferHold, caller: AbortController) => {
				hold.releaseOn(caller.signal);
				caller.abort();
			},
		],
		[
			"at once if its caller has left",
			(hold: BufferHold, caller: AbortController) => {
				caller.abort();
				hold.releaseOn(caller.signal);
			},
		],
		["when it is closed", (hold: BufferHold) => hold.close()],
	])("are released %s, and do not grow any more", (_, leave) => {
		const before = used();
		const hold = new BufferHold("acme");
		hold.grow(100);
		leave(hold, new AbortController());
		expect(used()).toBe(before);
		expect(hold.tryGrow(10)).toBe(false);
		expect(() => hold.grow(10)).toThrow(expect.objectContaining({ key: "aborted" }));
		expect(used()).toBe(before);
	});
});
