import { expect, it } from "vitest";
import { RuntimeDelay } from "../../src/core/runtime-delay.ts";

it("pauses work only while the runtime is behind, as long as its last probe was late, at most half a second", async () => {
	let now = 0;
	const runtimeDelay = new RuntimeDelay(() => now);
	const pauses: number[] = [];
	const wait = async (milliseconds: number): Promise<void> => void pauses.push(milliseconds);
	for (const lateMs of [0, 15, 16, 120, 4_000]) {
		runtimeDelay.set(lateMs);
		await runtimeDelay.giveWay(wait);
	}
	expect(pauses).toEqual([16, 120, 500]);
	// The last report is too old.
	now = 5_000;
	await runtimeDelay.giveWay(wait);
	expect(pauses).toHaveLength(3);
});
