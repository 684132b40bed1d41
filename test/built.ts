/** Global setup of the projects that test what is built: runs `npm run build` where a source is newer than `dist`. */
import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "..");
const SOURCES = [
	"src",
	"miniflare",
	"scripts",
	"cli",
	"package-lock.json",
	"tsconfig.json",
	"wrangler.jsonc",
];
const BUILT = [
	"worker/index.js",
	"miniflare/index.js",
	"miniflare/index.d.ts",
	"miniflare/recorder.js",
	"cli/index.js",
	"NOTICES.txt",
];

export default function setup(): void {
	const builtAt = BUILT.map((file) => modifiedAt(join("dist", file)));
	if (Math.max(...SOURCES.map(newestIn)) < Math.min(...builtAt)) return;
	execFileSync(process.execPath, ["scripts/build.ts"], { cwd: ROOT, stdio: "inherit" });
}

const statOf = (path: string) => statSync(join(ROOT, path), { throwIfNoEntry: false });
const modifiedAt = (path: string): number => statOf(path)?.mtimeMs ?? 0;

/** The time of a folder counts, too: it changes when a file is removed. */
function newestIn(path: string): number {
	if (!statOf(path)?.isDirectory()) return modifiedAt(path);
	const inner = readdirSync(join(ROOT, path), { recursive: true, encoding: "utf8" });
	return Math.max(modifiedAt(path), ...inner.map((name) => modifiedAt(join(path, name))));
}
