/** A batch in plain workerd, whose process is killed and whose clock jumps. */
import { expect, it } from "vitest";
import { runBatch } from "../../tools/soak/batches/run.ts";

const HOUR_MS = 60 * 60_000;

it("answers each line once and bills it once although the process is killed and the clock jumps", async () => {
	const { kills, ...verdict } = await runBatch({
		...{ lines: 240, kills: 2 },
		jumps: [2 * HOUR_MS, -HOUR_MS],
	});
	expect(verdict).toMatchObject({ answered: 240, billed: 240, problems: [] });
	expect(kills).toBe(2);
});
