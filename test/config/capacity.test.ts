import { expect, it } from "vitest";
import { bufferedBytesOf } from "../../src/config/capacity.ts";

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

it.each([
	[256 * MIB, 64],
	[1.25 * GIB, 80],
	[64 * GIB, 96],
])("of %d bytes of memory a process buffers %d MiB", (memory, buffered) => {
	expect(bufferedBytesOf(memory)).toBe(buffered * MIB);
});
