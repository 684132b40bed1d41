/** A file or a folder that cannot be used is described in words, with the code of the system. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { cannotBeRead, fileFailure } from "../../scripts/file-failure.ts";
import { makeFolder } from "../../scripts/make-folder.ts";

const root = mkdtempSync(join(tmpdir(), "ganglion-failures-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const file = join(root, "file");
writeFileSync(file, "");
mkdirSync(join(root, "folder"));

function failureOf(work: () => unknown): string {
	try {
		work();
	} catch (error) {
		return fileFailure(error);
	}
	throw new Error("it succeeded");
}

it.each<[string, () => unknown, string]>([
	[
		"a file in the place of a folder",
		() => makeFolder(file),
		"a file has this name, where a folder is needed (EEXIST)",
	],
	[
		"a file above it",
		() => makeFolder(join(file, "a")),
		"a part of the path is a file, where a folder is needed (ENOTDIR)",
	],
	[
		"a folder in the place of a file",
		() => readFileSync(join(root, "folder")),
		"a folder has this name, where a file is needed (EISDIR)",
	],
	["a long name", () => makeFolder(join(root, "x".repeat(300))), "its name is too long (ENAMETOOLONG)"],
])("%s", (_, work, sentence) => {
	expect(failureOf(work)).toBe(sentence);
});

it.each([
	["EACCES", "this user has no right to it (EACCES)"],
	["ENOSPC", "the disk is full (ENOSPC)"],
	["EROFS", "the disk is read-only (EROFS)"],
	["ENOENT", "nothing can be created there (ENOENT)"],
])("%s", (code, sentence) => {
	expect(fileFailure(Object.assign(new Error(`${code}: open '/a'`), { code }))).toBe(sentence);
});

it("leaves other errors as they are", () => {
	expect(fileFailure(new Error("another gateway uses it"))).toBe("another gateway uses it");
	expect(fileFailure(Object.assign(new Error("odd"), { code: "EODD" }))).toBe("odd");
	expect(fileFailure("text")).toBe("text");
});

it("says of a file that is read whether it is missing or a folder", () => {
	const reading = (path: string): string => {
		try {
			return readFileSync(path, "utf8");
		} catch (error) {
			return cannotBeRead("notes.md", error);
		}
	};
	expect(reading(join(root, "missing"))).toBe("notes.md cannot be read: there is no such file");
	expect(reading(join(root, "folder"))).toBe(
		"notes.md cannot be read: a folder has this name, where a file is needed (EISDIR)",
	);
});
