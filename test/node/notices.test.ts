import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { notices } from "../../scripts/notices.ts";

const root = mkdtempSync(join(tmpdir(), "notices-"));
afterEach(() => rmSync(root, { recursive: true, force: true }));

function packageOf(manifest: object, files: Record<string, string> = {}): string {
	const all = { ...files, "package.json": JSON.stringify({ name: "one", version: "1.2.3", ...manifest }) };
	for (const [name, text] of Object.entries(all)) {
		const path = join(root, "node_modules/one", name);
		mkdirSync(dirname(path), { recursive: true });
		writeFileSync(path, text);
	}
	return notices(root, ["src/index.ts", "node_modules/one/lib/a.js", "node_modules/one/lib/b.js"]);
}

describe("a notice", () => {
	it("has the text of the package's own file, once", () => {
		const text = packageOf({ license: "BSD-3-Clause" }, { "LICENSE.md": "Copyright 2020, all of it.\n" });
		expect(text.split("one 1.2.3 (BSD-3-Clause)\n\nCopyright 2020, all of it.\n")).toHaveLength(2);
	});

	it("has the licence's general text and the author where there is no file", () => {
		const text = packageOf({ license: "MIT", author: { name: "Ada" } });
		expect(text).toContain("one 1.2.3 (MIT)\n\nCopyright (c) Ada\n\nPermission is hereby granted");
	});

	it.each(["LGPL-3.0", "GPL-2.0-only", "AGPL-3.0-or-later", "MPL-2.0", undefined])(
		"is refused for the licence %s, which stops the build",
		(license) => {
			expect(() => packageOf({ license }, { LICENSE: "text" })).toThrow("one 1.2.3 cannot be bundled");
		},
	);

	it("has the permissive one of two licences, and its text alone", () => {
		const text = packageOf(
			{ license: "(MIT OR GPL-3.0-or-later)" },
			{ LICENSE: "The MIT License\n\nCopyright Ada\n\nGPL version 3\n=====\n\nYou must" },
		);
		expect(text).toContain("one 1.2.3 (MIT)\n\nThe MIT License\n\nCopyright Ada\n\n---");
		expect(text).not.toContain("GPL");
	});

	it("is refused without a text", () => {
		expect(() => packageOf({ license: "Apache-2.0" })).toThrow("has no text of its licence");
	});
});

it("every package in what was built has a permissive licence with its text", () => {
	const built = readFileSync("dist/NOTICES.txt", "utf8");
	const parts = built.split(`\n${"-".repeat(80)}\n`).slice(0, -1);
	expect(parts.length).toBeGreaterThan(50);
	for (const part of parts) {
		expect(part).toMatch(/^\S+ \d\S* \((?:MIT|ISC|BSD-2-Clause|BSD-3-Clause|0BSD|Apache-2\.0|Unlicense)\)$/m);
		expect(part.length, part.slice(0, 100)).toBeGreaterThan(500);
	}
	expect(built).not.toMatch(/lamejs|Lesser General Public/i);
});
