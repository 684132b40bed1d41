/**
 * `npm run build:console`: builds the web console (`console/`) with Vite into `console/site`, which the Worker serves, and writes
 * the OpenAPI document there. The commands that start or deploy the Worker call it too. It does nothing if no source is newer than
 * the last build.
 */
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { DOCUMENT_FILE, PAGE_FILE } from "../src/surfaces/operations/openapi.ts";
import { writeApiFiles } from "./api-files.ts";
import { notices } from "./notices.ts";
import { ROOT } from "./root.ts";
import { place, withBuilding } from "./worker.ts";

const CONSOLE = join(ROOT, "console");
const SITE = join(CONSOLE, "site");
const PAGE = "index.html";
const SOURCES = ["src", PAGE, "package.json", "vite.config.ts", "../package-lock.json"].map((name) =>
	join(CONSOLE, name),
);
const API_SOURCES = ["src", "package-lock.json"].map((name) => join(ROOT, name));

/** The published files of `@cloudflare/kumo` contain these packages. */
const INSIDE_KUMO = [
	"@base-ui/react",
	"@base-ui/utils",
	"@floating-ui/core",
	"@floating-ui/dom",
	"@floating-ui/react-dom",
	"@floating-ui/utils",
];

export async function buildConsole(): Promise<void> {
	if (Math.max(...SOURCES.map(newestIn)) >= modifiedAt(join(SITE, PAGE))) await buildSite();
	const written = Math.min(...[DOCUMENT_FILE, PAGE_FILE].map((file) => modifiedAt(join(SITE, file))));
	if (Math.max(...API_SOURCES.map(newestIn)) >= written) await writeApiFiles(SITE);
}

/** Deletes all other files. */
async function buildSite(): Promise<void> {
	// Most calls do not need it, and it loads slowly.
	const { build } = await import("vite");
	await withBuilding(async (outDir) => {
		const bundled = new Set(INSIDE_KUMO.map((name) => `node_modules/${name}/package.json`));
		const nodeEnv = process.env.NODE_ENV;
		// Vite reads it. With another value, it bundles the development files of React, which are larger.
		process.env.NODE_ENV = "production";
		await build({
			root: CONSOLE,
			logLevel: "warn",
			build: { outDir },
			plugins: [
				{
					name: "bundled-files",
					moduleParsed: ({ id }) => void bundled.add(relative(ROOT, id)),
				},
			],
		}).finally(() => {
			if (nodeEnv === undefined) delete process.env.NODE_ENV;
			else process.env.NODE_ENV = nodeEnv;
		});
		writeFileSync(join(outDir, "notices.txt"), notices(ROOT, [...bundled]));
		place(outDir, SITE, PAGE);
	});
}

const modifiedAt = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** The time of a folder counts, because it changes when a file is removed. */
function newestIn(path: string): number {
	if (!statSync(path).isDirectory()) return modifiedAt(path);
	const inner = readdirSync(path, { recursive: true, encoding: "utf8" });
	return Math.max(modifiedAt(path), ...inner.map((name) => modifiedAt(join(path, name))));
}

if (import.meta.main) await buildConsole();
