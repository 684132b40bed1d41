import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { startWriter } from "../../tools/bench/beside-writes.ts";

const folder = mkdtempSync(join(tmpdir(), "ganglion-writer-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("the process beside the accounts writes 4 KB again and again, counts it, and ends", async () => {
	const file = join(folder, "written");
	const writer = await startWriter(file);
	const first = writer.count();
	await expect.poll(() => writer.count(), { timeout: 20_000 }).toBeGreaterThan(first);
	expect(statSync(file).size).toBe(4096);
	await writer.stop();
	const { mtimeMs } = statSync(file);
	await new Promise((resolve) => setTimeout(resolve, 50));
	expect(statSync(file).mtimeMs).toBe(mtimeMs);
	await expect(startWriter(join(folder, "none/written"))).rejects.toThrow("nothing was written");
});
