/**
 * `npm run build:worker`: builds the Worker as it deploys, in `dist/worker`. wrangler runs this before it deploys or serves (`build`
 * in `wrangler.jsonc`), because its own bundler writes a single file.
 *
 * `index.js` has what every request needs. Each `import()` in the sources (the simulator, Markdown, most kinds of backends) becomes
 * another file, which the runtime evaluates at its first use. Code that several of them share is a file too. File names contain a hash
 * of the content.
 */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, type Metafile } from "esbuild";
import { DIST, ROOT } from "./root.ts";

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
		// The settings of wrangler's own bundler.
		platform: "browser",
		conditions: ["workerd", "worker", "browser"],
		define: { "process.env.NODE_ENV": '"production"' },
		// The runtime provides them.
		external: ["cloudflare:*", "node:*"],
		minify,
		sourcemap: true,
		metafile: true,
		logLevel: "warning",
	});
	// `wrangler types` reads the types of the bindings from it.
	writeFileSync(join(outdir, "index.d.ts"), 'export * from "../../src/index.ts";\n');
	return metafile;
}

/** Moves only complete files into their places. */
export const buildWorker = (): Promise<Metafile> =>
	withBuilding(async (folder) => {
		const metafile = await bundleWorker(folder);
		place(folder, join(DIST, "worker"), "index.js");
		return metafile;
	});

/**
 * Moves built files to their folder: the entry file after the files that it loads, and deletes old files last. So a process that
 * reads the folder at the same time always finds a complete build.
 */
export function place(built: string, to: string, entry: string): void {
	mkdirSync(to, { recursive: true });
	const files = readdirSync(built).sort((one, other) => Number(one === entry) - Number(other === entry));
	for (const file of files) renameSync(join(built, file), join(to, file));
	for (const file of readdirSync(to))
		if (!files.includes(file) && !file.startsWith(".")) rmSync(join(to, file), { force: true });
}

/** Runs the work with a temporary folder, at the same depth as the output: source maps have relative paths. */
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
		// esbuild has printed the errors. wrangler would quote any further output.
		if (!(error instanceof Error && "errors" in error)) throw error;
		process.exitCode = 1;
	});
