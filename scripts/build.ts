/**
 * `npm run build`: the Worker as it would deploy, in one file (`dist/worker`), and the Miniflare plugin that runs it
 * (`dist/miniflare`), with its types. The package is these two: whoever installs it installs nothing else.
 *
 * Files are moved to their places when they are whole: a session that runs from `dist` meanwhile never sees half.
 */
import { execFileSync } from "node:child_process";
import {
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { build, type Metafile } from "esbuild";
import { unstable_readConfig as readConfig } from "wrangler";
import { notices } from "./notices.ts";

const ROOT = join(import.meta.dirname, "..");
const DIST = join(ROOT, "dist");
/** wrangler adds a note and the source map to the bundle; another module would be missing from the package. */
const WORKER_FILES = ["README.md", "index.js", "index.js.map"];
const WANTED = [
	"worker/index.js",
	"worker/index.js.map",
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

mkdirSync(DIST, { recursive: true });
const building = mkdtempSync(join(DIST, ".building-"));
try {
	const meta = join(building, "meta.json");
	const outdir = join(building, "worker");
	run("wrangler/bin/wrangler.js", "deploy", "--dry-run", "--outdir", outdir, "--metafile", meta);
	const unexpected = readdirSync(outdir).filter((file) => !WORKER_FILES.includes(file));
	if (unexpected.length > 0) throw new Error(`The Worker is more than one file: ${unexpected.join(", ")}`);

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
		external: ["miniflare"],
		define: {
			GATEWAY_COMPATIBILITY_FLAGS: JSON.stringify(compatibility_flags),
			GATEWAY_OBJECTS: JSON.stringify(durable_objects.bindings),
		},
		minifyWhitespace: true,
		metafile: true,
		logLevel: "warning",
	});
	const worker: Metafile = JSON.parse(readFileSync(meta, "utf8"));
	const bundled = [worker, plugin.metafile].flatMap(({ inputs }) => Object.keys(inputs));
	writeFileSync(join(building, "NOTICES.txt"), notices(ROOT, bundled));
	run("typescript/bin/tsc", "-p", "miniflare", "--outDir", building);

	for (const file of WANTED) {
		mkdirSync(dirname(join(DIST, file)), { recursive: true });
		renameSync(join(building, file), join(DIST, file));
	}
} finally {
	rmSync(building, { recursive: true });
}
