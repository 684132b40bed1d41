import { posix, win32 } from "node:path";
import { expect, it } from "vitest";
import { embeddedPath } from "../../scripts/workerd.ts";

it.each([
	["beside it", posix, "/tmp/a", "/tmp/b/index.js", "../b/index.js"],
	["below it", posix, "/tmp/a", "/tmp/a/index.js", "index.js"],
	["on Windows", win32, "C:\\Temp\\a", "C:\\work\\dist\\index.js", "../../work/dist/index.js"],
	["on another drive of Windows", win32, "C:\\Temp\\a", "D:\\work\\dist\\index.js", undefined],
])("a configuration reads a module by a path with slashes: %s", (_, path, folder, file, expected) => {
	expect(embeddedPath(folder, file, path)).toBe(expected);
});
