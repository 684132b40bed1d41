/**
 * `npm run build`: builds the Worker as it deploys, in modules (`dist/worker`, see `worker.ts`), and the Miniflare plugin that runs
 * it (`dist/miniflare`), with its types. The package consists of these two, and has no dependencies. Also builds the web console
 * (`console/site`).
 *
 * Complete files are moved to their places, so a session that runs from `dist` at the same time never reads a partial file.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { unstable_readConfig as readConfig } from "wrangler";
import { buildConsole } from "./console.ts";
import { notices } from "./notices.ts";
import { buildWorker, DIST, ROOT, withBuilding } from "./worker.ts";

const OUTPUTS = [
	"miniflare/index.js",
	"miniflare/forward.js",
	"miniflare/index.d.ts",
	"miniflare/api.d.ts",
	"NOTICES.txt",
];

const run = (tool: string, ...args: string[]) =>
	execFileSync(process.execPath, [join(ROOT, "node_modules", tool), ...args], {
		cwd: ROOT,
		stdio: "inherit",
	});

await buildConsole();
const worker = await buildWorker();
await withBuilding(async (building) => {
	const { compatibility_flags, durable_objects } = readConfig({ config: join(ROOT, "wrangler.jsonc") });
	const plugin = await build({
		absWorkingDir: ROOT,
		entryPoints: [
			{ in: "miniflare/index.ts", out: "index" },
			{ in: "miniflare/forward.worker.ts", out: "forward" },
		],
		outdir: join(building, "miniflare"),
		bundle: true,
		format: "esm",
		platform: "node",
		target: "node20",
		external: ["miniflare", "cloudflare:workers"],
		define: {
			GATEWAY_COMPATIBILITY_FLAGS: JSON.stringify(compatibility_flags),
			GATEWAY_OBJECTS: JSON.stringify(durable_objects.bindings),
		},
		minifyWhitespace: true,
		metafile: true,
		logLevel: "warning",
	});
	const bundled = [worker, plugin.metafile].flatMap(({ inputs }) => Object.keys(inputs));
	writeFileSync(join(building, "NOTICES.txt"), notices(ROOT, bundled));
	run("typescript/bin/tsc", "-p", "miniflare", "--outDir", building);

	for (const file of OUTPUTS) {
		mkdirSync(dirname(join(DIST, file)), { recursive: true });
		renameSync(join(building, file), join(DIST, file));
	}
});
