/**
 * `npm run build:worker`: the Worker as it deploys, in `dist/worker`. wrangler runs this before it deploys or serves
 * (`build` in `wrangler.jsonc`), because its own bundler makes one file of everything.
 *
 * `index.js` is what every request needs. What few deployments use (`import()` in the sources: the simulator, Markdown,
 * most kinds of engines) are files beside it that the runtime evaluates when a request first needs them; what several
 * of them share is a file, too. Each is named by its content, and all of them are the Worker.
 */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, type Metafile } from "esbuild";

export const ROOT = join(import.meta.dirname, "..");
export const DIST = join(ROOT, "dist");

export async function bundleWorker(outdir: string, { minify = true } = {}): Promise<Metafile> {
	const { metafile } = await build({
		absWorkingDir: ROOT,
		entryPoints: [{ in: "src/index.ts", out: "index" }],
		outdir,
		chunkNames: "[name]-[hash].part",
		bundle: true,
		splitting: true,
		format: "esm",
		target: "es2024",
		// As wrangler's own bundler has them.
		platform: "browser",
		conditions: ["workerd", "worker", "browser"],
		define: { "process.env.NODE_ENV": '"production"' },
		// The runtime has them.
		external: ["cloudflare:*", "node:*"],
		minify,
		sourcemap: true,
		metafile: true,
		logLevel: "warning",
	});
	// For what `wrangler types` says of the bindings.
	writeFileSync(join(outdir, "index.d.ts"), 'export * from "../../src/index.ts";\n');
	return metafile;
}

/** Each file is whole when it comes to its place. */
export const buildWorker = (): Promise<Metafile> =>
	withBuilding(async (folder) => {
		const metafile = await bundleWorker(folder);
		place(folder, join(DIST, "worker"));
		return metafile;
	});

/**
 * What the new Worker needs is there before its `index.js` is, and what only the old one needed goes last: whoever reads
 * them meanwhile has a whole Worker.
 */
function place(built: string, to: string): void {
	mkdirSync(to, { recursive: true });
	const files = readdirSync(built);
	for (const file of [...files.filter((file) => !isMain(file)), ...files.filter(isMain)])
		renameSync(join(built, file), join(to, file));
	for (const file of readdirSync(to)) if (!files.includes(file)) rmSync(join(to, file), { force: true });
}

const isMain = (file: string): boolean => file === "index.js";

/** A folder as deep as what is built, which source maps count on; gone when the work is done. */
export async function withBuilding<T>(work: (folder: string) => Promise<T>): Promise<T> {
	mkdirSync(DIST, { recursive: true });
	const folder = mkdtempSync(join(DIST, ".building-"));
	try {
		return await work(folder);
	} finally {
		rmSync(folder, { recursive: true });
	}
}

if (import.meta.main)
	await buildWorker().catch((error: unknown) => {
		// esbuild has said what is wrong, and wrangler quotes all that comes after it.
		if (!(error instanceof Error && "errors" in error)) throw error;
		process.exitCode = 1;
	});
