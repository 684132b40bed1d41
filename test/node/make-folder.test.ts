/** Folders are created, or the reason is thrown at once. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { makeFolder } from "../../scripts/make-folder.ts";

const root = mkdtempSync(join(tmpdir(), "ganglion-folders-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

it("creates those above, each with the mode, and leaves one that exists", () => {
	const folder = join(root, "a", "b", "c");
	makeFolder(folder, 0o700);
	makeFolder(folder);
	for (const path of [folder, join(root, "a")]) {
		expect(statSync(path).isDirectory()).toBe(true);
		if (process.platform !== "win32") expect(statSync(path).mode & 0o777).toBe(0o700);
	}
});

it("refuses a file in its place, and one above it", () => {
	const file = join(root, "file");
	writeFileSync(file, "");
	expect(() => makeFolder(file)).toThrow(expect.objectContaining({ code: "EEXIST", path: file }));
	expect(() => makeFolder(join(file, "b"))).toThrow(expect.objectContaining({ code: "ENOTDIR" }));
});

it.skipIf(process.platform !== "linux")("refuses a place that has no place for folders", () => {
	expect(() => makeFolder("/proc/none/a/b")).toThrow(
		expect.objectContaining({ code: "ENOENT", path: "/proc/none" }),
	);
});
