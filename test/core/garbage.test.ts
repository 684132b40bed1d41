/** Garbage of large bodies is collected under load, too. */
import { afterEach, expect, it, vi } from "vitest";
import { BufferHold, bufferedBytes } from "../../src/core/process-counts.ts";

const MIB = 1024 * 1024;
const runtime = globalThis as { gc?: unknown };
const before = runtime.gc;

afterEach(() => {
	runtime.gc = before;
});

function release(mebibytes: number): void {
	const hold = new BufferHold("account");
	hold.grow(mebibytes * MIB);
	hold.release();
	hold.release();
}

it("is collected each time that 64 MiB of buffered bytes were released", () => {
	const gc = vi.fn();
	runtime.gc = gc;
	const { used } = bufferedBytes.report();
	// The rest of other tests.
	release(32);
	release(32);
	gc.mockClear();
	while (gc.mock.calls.length === 0) release(1);
	gc.mockClear();
	for (let count = 0; count < 63; count++) release(1);
	expect(gc).not.toHaveBeenCalled();
	release(1);
	expect(gc).toHaveBeenCalledExactlyOnceWith({ type: "major", execution: "sync" });
	for (let count = 0; count < 4; count++) release(32);
	expect(gc).toHaveBeenCalledTimes(3);
	expect(bufferedBytes.report().used).toBe(used);
});

it("is left to a runtime that cannot be asked", () => {
	delete runtime.gc;
	expect(() => release(32)).not.toThrow();
	expect(() => release(32)).not.toThrow();
	expect(() => release(32)).not.toThrow();
});
