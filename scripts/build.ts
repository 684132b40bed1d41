/**
 * `npm run build`: builds the Worker with all its parts, in modules (`dist/worker`, see `worker.ts`), and the Miniflare plugin that runs
 * it (`dist/miniflare`), with its types, the command `ganglion` (`dist/cli`), and the web console (`console/site`). The package consists of
 * these four. Its only dependency is workerd.
 *
 * Complete files are moved to their places, so a session that runs from `dist` at the same time never reads a partial file.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { unstable_readConfig as readConfig } from "wrangler";
import { buildConsole } from "./console.ts";
import { notices } from "./notices.ts";
import { DIST, ROOT } from "./root.ts";
import { projectSettings } from "./settings.ts";
import { buildWorker, ENTRY, place, withBuilding } from "./worker.ts";

const OUTPUTS = [
	"miniflare/index.js",
	"miniflare/forward.js",
	"miniflare/recorder.js",
	"miniflare/vitest.js",
	"miniflare/index.d.ts",
	"miniflare/api.d.ts",
	"miniflare/vitest.d.ts",
	"NOTICES.txt",
];

const run = (tool: string, ...args: string[]) =>
	execFileSync(process.execPath, [join(ROOT, "node_modules", tool), ...args], {
		cwd: ROOT,
		stdio: "inherit",
	});

await buildConsole();
const { version }: { version: string } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const worker = await buildWorker();
await withBuilding(async (building) => {
	const { compatibility_flags, durable_objects } = readConfig({ config: join(ROOT, "wrangler.jsonc") });
	const plugin = await build({
		absWorkingDir: ROOT,
		entryPoints: [
			{ in: "miniflare/index.ts", out: "index" },
			{ in: "miniflare/forward.worker.ts", out: "forward" },
			{ in: "miniflare/recordings/recorder.worker.ts", out: "recorder" },
			{ in: "miniflare/vitest.ts", out: "vitest" },
		],
		outdir: join(building, "miniflare"),
		bundle: true,
		format: "esm",
		platform: "node",
		target: "node20",
		external: ["miniflare", "cloudflare:test", "cloudflare:workers", "vitest", "workerd"],
		define: {
			GATEWAY_COMPATIBILITY_FLAGS: JSON.stringify(compatibility_flags),
			GATEWAY_OBJECTS: JSON.stringify(durable_objects.bindings),
		},
		minifyWhitespace: true,
		metafile: true,
		logLevel: "warning",
	});
	const cli = await build({
		absWorkingDir: ROOT,
		entryPoints: [
			{ in: "cli/index.ts", out: "index" },
			{ in: "cli/guard.ts", out: "guard" },
		],
		outdir: join(building, "cli"),
		bundle: true,
		// A command loads its own files. All together take 0.1 s.
		splitting: true,
		format: "esm",
		platform: "node",
		target: "node20",
		// The CommonJS form of jsonc-parser cannot be bundled.
		mainFields: ["module", "main"],
		external: ["workerd"],
		define: {
			IS_PACKAGE: "true",
			PACKAGE_VERSION: JSON.stringify(version),
			PROJECT_SETTINGS: JSON.stringify(projectSettings()),
		},
		// Bundled CommonJS packages call it for Node's modules.
		banner: {
			js: '#!/usr/bin/env node\nimport { createRequire as createBundleRequire } from "node:module";\nconst require = createBundleRequire(import.meta.url);',
		},
		minifyWhitespace: true,
		minifySyntax: true,
		metafile: true,
		logLevel: "warning",
	});
	await build({
		absWorkingDir: ROOT,
		entryPoints: ["engine/server.ts", "engine/child.ts"],
		outdir: join(building, "engine"),
		bundle: true,
		format: "esm",
		platform: "node",
		target: "node20",
		// They are installed where these files are written.
		packages: "external",
		logLevel: "warning",
	});
	chmodSync(join(building, "cli/index.js"), 0o755);
	const bundled = [plugin.metafile, cli.metafile].flatMap(({ inputs }) => Object.keys(inputs));
	writeFileSync(join(building, "NOTICES.txt"), notices(ROOT, [...worker, ...bundled]));
	run("typescript/bin/tsc", "-p", "miniflare", "--outDir", building);

	place(join(building, "cli"), join(DIST, "cli"), ENTRY);
	for (const file of OUTPUTS) {
		mkdirSync(dirname(join(DIST, file)), { recursive: true });
		renameSync(join(building, file), join(DIST, file));
	}
	for (const name of ["package.json", "package-lock.json"])
		cpSync(join(ROOT, "engine", name), join(building, "engine", name));
	rmSync(join(DIST, "engine"), { recursive: true, force: true });
	renameSync(join(building, "engine"), join(DIST, "engine"));
});
