/** Folders are created, or the reason is thrown at once. */
import {
	existsSync,
	globSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, parse } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
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

it("takes a path that leads through a folder that does not exist yet", () => {
	const folder = `${root}/d/../e`;
	makeFolder(folder);
	expect(statSync(folder).isDirectory()).toBe(true);
});

describe("another process creates the folder at the same time", () => {
	it("after the one above it was created", () => {
		const folder = join(root, "f", "g");
		makeFolder(folder, undefined, {
			statSync,
			mkdirSync(path, mode) {
				if (path === folder && existsSync(dirname(folder))) mkdirSync(path);
				mkdirSync(path, mode);
			},
		});
		expect(statSync(folder).isDirectory()).toBe(true);
	});

	it("and had created the one above it before", () => {
		const folder = join(root, "h", "i");
		let calls = 0;
		makeFolder(folder, undefined, {
			statSync,
			mkdirSync(path, mode) {
				calls++;
				try {
					mkdirSync(path, mode);
				} finally {
					if (calls === 1) mkdirSync(dirname(folder));
				}
			},
		});
		expect(statSync(folder).isDirectory()).toBe(true);
	});
});

it("refuses a drive that does not exist", () => {
	const { root: drive } = parse(root);
	const absent = {
		statSync: () => undefined,
		mkdirSync(path: string) {
			throw Object.assign(new Error(`ENOENT: ${path}`), { code: "ENOENT", path });
		},
	};
	expect(() => makeFolder(join(drive, "a", "b"), undefined, absent)).toThrow(
		expect.objectContaining({ code: "ENOENT", path: drive }),
	);
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

it("is used wherever a user may name the folder", () => {
	const sources = globSync(["cli/**/*.ts", "miniflare/*.ts", "scripts/{adapters,local-engine}/*.ts"]);
	expect(sources.length).toBeGreaterThan(50);
	const isRecursive = /\bmkdir(?:Sync)?\([^;]*\brecursive\b/;
	expect(sources.filter((file) => isRecursive.test(readFileSync(file, "utf8")))).toEqual([]);
});
