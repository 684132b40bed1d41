import { mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { equalBuild, forgetBuild, recordBuild } from "../../scripts/build-record.ts";
import { ROOT } from "../../scripts/root.ts";

const EARLIER = new Date(Date.now() - 60_000);
let folder: string;
let source: string;
const find = (options = "all") => equalBuild(folder, options, "index.js");

function write(file: string, text: string, time = EARLIER): void {
	writeFileSync(file, text);
	utimesSync(file, time, time);
}

beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-record-"));
	source = join(folder, "source.ts");
	write(source, "export {};");
	write(join(folder, "index.js"), "built");
	write(join(folder, "a.part.js"), "part");
});
afterEach(() => rmSync(folder, { recursive: true }));

function record(startedAt = EARLIER.getTime() + 1_000): void {
	const sources = [relative(ROOT, source)];
	recordBuild(folder, startedAt, {
		...{ options: "all", sources, outputs: ["index.js", "a.part.js"], bundled: ["src/a.ts"] },
	});
}

it("finds the build of sources that have only another time, and gives it the present time", () => {
	record();
	write(source, "export {};", new Date());
	const before = Date.now();
	expect(find()).toEqual(["src/a.ts"]);
	expect(statSync(join(folder, "index.js")).mtimeMs).toBeGreaterThanOrEqual(before - 10);
});

it.each<[change: string, make: () => void]>([
	["another content of a source", () => write(source, "export { };")],
	["a source that was deleted", () => rmSync(source)],
	["a missing output", () => rmSync(join(folder, "a.part.js"))],
	["an output of another size", () => write(join(folder, "index.js"), "cut")],
	["a build that began to replace it", () => forgetBuild(folder)],
	["a record that is cut", () => write(join(folder, ".build.json"), '{"options":"all"')],
])("finds none with %s", (_, make) => {
	record();
	expect(find()).toEqual(["src/a.ts"]);
	make();
	expect(find()).toBeUndefined();
});

it("finds none of other options", () => {
	record();
	expect(find("without the simulator")).toBeUndefined();
});

it("does not record a build during which a source changed", () => {
	record(EARLIER.getTime() - 1_000);
	expect(find()).toBeUndefined();
});
