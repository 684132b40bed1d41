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
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { makeFolder } from "../../scripts/make-folder.ts";

const real = await vi.importActual<typeof import("node:fs")>("node:fs");
vi.mock("node:fs", { spy: true });

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
	const calls = vi.mocked(mkdirSync);
	afterEach(() => calls.mockReset());

	it("after the one above it was created", () => {
		const folder = join(root, "f", "g");
		calls.mockImplementation((path, options) => {
			if (path === folder && existsSync(dirname(folder))) real.mkdirSync(path);
			return real.mkdirSync(path, options);
		});
		makeFolder(folder);
		expect(statSync(folder).isDirectory()).toBe(true);
	});

	it("and had created the one above it before", () => {
		const folder = join(root, "h", "i");
		calls.mockImplementationOnce((path, options) => {
			try {
				return real.mkdirSync(path, options);
			} finally {
				real.mkdirSync(dirname(folder));
			}
		});
		makeFolder(folder);
		expect(statSync(folder).isDirectory()).toBe(true);
	});
});

it("refuses a drive that does not exist", () => {
	const { root: drive } = parse(root);
	vi.mocked(statSync).mockReturnValue(undefined);
	vi.mocked(mkdirSync).mockImplementation((path) => {
		throw Object.assign(new Error(`ENOENT: ${path}`), { code: "ENOENT", path });
	});
	try {
		expect(() => makeFolder(join(drive, "a", "b"))).toThrow(
			expect.objectContaining({ code: "ENOENT", path: drive }),
		);
	} finally {
		vi.mocked(statSync).mockReset();
		vi.mocked(mkdirSync).mockReset();
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

it("is used wherever a user may name the folder", () => {
	const sources = globSync(["cli/**/*.ts", "miniflare/*.ts", "scripts/{adapters,local-engine}/*.ts"]);
	expect(sources.length).toBeGreaterThan(50);
	const isRecursive = /\bmkdir(?:Sync)?\([^;]*\brecursive\b/;
	expect(sources.filter((file) => isRecursive.test(readFileSync(file, "utf8")))).toEqual([]);
});
