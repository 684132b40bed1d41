/**
 * `npm run build:worker`: builds the Worker in modules. wrangler runs this before it deploys or serves (`build` in `wrangler.jsonc`),
 * because its own bundler writes a single file. `dist/worker` has all parts; the package contains it, and `npm run dev` serves it.
 * `dist/documents` is the Worker that converts documents in a process of its own (`documents/converter.ts`), so that `dist/worker` has none
 * of its parsers. `dist/deploy` is the `main` of wrangler. A deployment leaves parts out, and writes only that folder.
 *
 * `index.js` has what every request needs. Each `import()` in the sources (the simulator, kinds of documents, most kinds of backends) becomes
 * another file, which the runtime evaluates at its first use. Code that several of them share is a file too. File names contain a hash
 * of the content. A build of sources that have not changed writes nothing (`build-record.ts`).
 */
import { createHash } from "node:crypto";
import {
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import type { Plugin } from "rolldown";
import { REDUCED_BUILD } from "../miniflare/modules.ts";
import { DOCUMENT_KINDS } from "../src/retrieval/documents/formats.ts";
import { expectedName } from "../src/schemas/explain.ts";
import { equalBuild, forgetBuild, recordBuild } from "./build-record.ts";
import { SERVED_BUILD } from "./internal-names.ts";
import { readOptions } from "./options.ts";
import { leaveRoomsOut, withDependents } from "./rooms.ts";
import { DIST, ROOT } from "./root.ts";
import { PROJECT_CONFIG } from "./settings.ts";
import { stopWith } from "./stop-with.ts";
import { unusedKinds } from "./unused-kinds.ts";

/**
 * Parts that a deployment can leave out, and the modules of each: kinds of documents, of backends and of vector stores by their names; `mcp`: MCP
 * servers; rooms (`rooms.ts`).
 */
const PARTS = {
	simulator: ["backends/simulator/index.ts"],
	pdf: ["retrieval/documents/pdf.ts"],
	images: ["retrieval/documents/describe.ts", "retrieval/documents/describe-embedded.ts"],
	html: ["retrieval/documents/html.ts"],
	xml: ["retrieval/documents/xml.ts"],
	spreadsheets: ["retrieval/documents/spreadsheet.ts"],
	docx: ["retrieval/documents/docx.ts"],
	odt: ["retrieval/documents/odt.ts"],
	csv: ["retrieval/documents/csv.ts"],
	anthropic: ["backends/anthropic/index.ts"],
	cog: ["backends/cog/index.ts"],
	gemini: ["backends/gemini/index.ts"],
	local: ["backends/local/index.ts"],
	ollama: ["backends/ollama/index.ts"],
	tei: ["backends/tei/index.ts"],
	"workers-ai": ["backends/workers-ai/index.ts"],
	mcp: ["surfaces/aisearch/mcp-server.ts"],
	pgvector: ["retrieval/vectors/stores/pgvector/index.ts"],
	qdrant: ["retrieval/vectors/stores/qdrant/index.ts"],
	vectorize: ["retrieval/vectors/stores/vectorize/index.ts"],
	search: [],
	vectors: [],
} satisfies Record<string, readonly string[]>;
export const PART_NAMES = Object.keys(PARTS) as Part[];
export type Part = keyof typeof PARTS;

interface WorkerBuild {
	/** The entry file, by default that of the Worker. */
	entry?: string;
	minify?: boolean;
	without?: readonly Part[];
	/** Documents are converted by another process. */
	isWithConverter?: boolean;
	/** The folder of another checkout, which has its own packages. */
	root?: string;
	plugins?: readonly Plugin[];
}

/** Functions of rolldown that a bundle contains. Its package has their licence. */
const RUNTIME = "\0rolldown/runtime.js";
const RUNTIME_FILE = join(ROOT, "node_modules/rolldown/package.json");

/** Of each build. */
export const ENTRY = "index.js";
/** What decides how the sources are bundled. */
const BUILDERS = ["scripts/worker.ts", "scripts/rooms.ts", "package-lock.json"];

/** Returns the bundled files, as paths below the root. */
export async function bundleWorker(outdir: string, build: WorkerBuild = {}): Promise<string[]> {
	return (await bundle(outdir, build)).bundled;
}

/** `sources`: all files that were read, also those of which nothing is in the bundle. */
async function bundle(
	outdir: string,
	{
		root = ROOT,
		entry = join(root, "src/index.ts"),
		minify = true,
		without: parts = [],
		isWithConverter = false,
		plugins = [],
	}: WorkerBuild,
): Promise<{ bundled: string[]; sources: string[] }> {
	const without = withDependents(parts);
	// A build that is there already does not need it, and it loads slowly.
	const { rolldown } = await import("rolldown");
	const build = await rolldown({
		cwd: root,
		input: { index: entry },
		// The settings of wrangler's own bundler.
		platform: "browser",
		resolve: {
			conditionNames: ["workerd", "worker", "browser"],
			alias: {
				// The table of all character references has 35 KB. mdast-util-to-markdown needs it for the labels of references, and the
				// conversion of HTML makes none.
				"decode-named-character-reference": join(root, "src/retrieval/documents/no-character-references.ts"),
				"@ungap/structured-clone": join(root, "src/retrieval/documents/structured-clone.ts"),
			},
		},
		transform: { target: "es2024", define: { "process.env.NODE_ENV": '"production"' } },
		// The runtime provides them.
		external: [/^cloudflare:/, /^node:/],
		plugins: [
			wasmFiles(),
			leaveOut(without, isWithConverter ? CONVERTED : []),
			leaveRoomsOut(without, join(ROOT, "src")),
			...plugins,
		],
		logLevel: "warn",
		// rolldown itself only warns of a missing package, and the runtime would refuse the upload.
		onLog: (level, log, report) => report(log.code === "UNRESOLVED_IMPORT" ? "error" : level, log),
	});
	try {
		const { output } = await build.write({
			dir: outdir,
			format: "esm",
			chunkFileNames: "[name]-[hash].part.js",
			minify,
			sourcemap: true,
			...(without.length > 0 && { postBanner: `${REDUCED_BUILD}${without.join(", ")}` }),
		});
		// `wrangler types` reads the types of the bindings from it.
		writeFileSync(join(outdir, "index.d.ts"), 'export * from "../../src/index.ts";\n');
		const bundled = output
			.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []))
			.map((id) => (id === RUNTIME ? RUNTIME_FILE : id));
		return { bundled: filesOf(bundled), sources: filesOf(await build.watchFiles) };
	} finally {
		await build.close();
	}
}

/** Other modules that a plugin makes have no file. */
const filesOf = (ids: readonly string[]): string[] =>
	ids.filter((id) => !id.startsWith("\0")).map((file) => relative(ROOT, file));

/** A module of WebAssembly becomes a file, which the runtime compiles: it compiles no bytes that code gives it. */
function wasmFiles(): Plugin {
	return {
		name: "wasm-files",
		resolveId(source, importer) {
			if (!source.endsWith(".wasm") || importer === undefined) return undefined;
			const file = join(dirname(importer), source);
			this.addWatchFile(file);
			const content = readFileSync(file);
			const digest = createHash("sha256").update(content).digest("hex").slice(0, 8);
			const fileName = basename(source).replace(/\.wasm$/, `-${digest}.wasm`);
			this.emitFile({ type: "asset", fileName, source: content });
			return { id: `./${fileName}`, external: true };
		},
	};
}

/**
 * Writes the names of the parts into `LEFT_OUT` and replaces their modules by empty ones. Those of `others` are in another Worker. The gateway never
 * loads the module of a part that `LEFT_OUT` names: it refuses a configuration that needs the part, and files of such a kind.
 */
function leaveOut(parts: readonly Part[], others: readonly Part[]): Plugin {
	const sources = join(ROOT, "src");
	const emptied = new Set(
		[...parts, ...others].flatMap((part) => PARTS[part].map((file) => join(sources, file))),
	);
	const list = join(sources, "core/left-out.ts");
	return {
		name: "leave-out",
		load(file) {
			if (emptied.has(file)) return "export {};";
			if (file !== list) return undefined;
			return readFileSync(list, "utf8").replace("= []", `= ${JSON.stringify(parts)}`);
		},
	};
}

/** The Worker that converts documents. */
const CONVERTER_ENTRY = join(ROOT, "src/retrieval/documents/converter-worker.ts");
/** The kinds that it converts. */
const CONVERTED = DOCUMENT_KINDS.filter((kind) => kind !== "images");

/** The folders of `dist` that this machine runs. */
export const BUILDS = {
	worker: { isWithConverter: true },
	documents: { entry: CONVERTER_ENTRY },
} satisfies Record<string, WorkerBuild>;

/** Writes all parts to `dist/worker` and `dist/documents`. Moves only complete files into their places. */
export async function buildWorker(): Promise<string[]> {
	const worker = await buildIn("worker", BUILDS.worker);
	return [...worker, ...(await buildIn("documents", BUILDS.documents))];
}

/** Builds nothing if the folder has the same build of the same sources. */
async function buildIn(
	target: "worker" | "documents" | "deploy",
	options: WorkerBuild = {},
): Promise<string[]> {
	const [to, made] = [join(DIST, target), JSON.stringify(options)];
	const existing = equalBuild(to, made, ENTRY);
	if (existing) return existing;
	return withBuilding(async (folder) => {
		const startedAt = Date.now();
		const { bundled, sources } = await bundle(folder, options);
		const outputs = readdirSync(folder);
		forgetBuild(to);
		place(folder, to, ENTRY);
		recordBuild(to, startedAt, {
			...{ options: made, outputs, bundled },
			sources: [...BUILDERS, ...sources],
		});
		return bundled;
	});
}

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

/** The name in `--without` of all kinds of documents. */
const DOCUMENTS = "documents";
/** The name in `--without` of the kinds of backends and vector stores that the configuration cannot need. */
const UNUSED = "unused";

/** wrangler names its command. Only a deployment leaves parts out: sessions and tests on this machine have all of them. */
const isDeployment = /^(deploy|versions)/.test(process.env.WRANGLER_COMMAND ?? "");

function partsLeftOut(): Part[] {
	const { without, config = PROJECT_CONFIG } = readOptions(
		{ without: { type: "string" }, config: { type: "string" } },
		`npm run build:worker -- [options]

  --without A,B  leaves these parts out of a deployment: ${PART_NAMES.join(", ")};
                 "${DOCUMENTS}": all kinds of documents
                 "${UNUSED}": kinds of backends and vector stores that the configuration cannot need
  --config FILE  the configuration (wrangler.jsonc)`,
	);
	const names = without ? without.split(",") : [];
	const known = [...PART_NAMES, DOCUMENTS, UNUSED];
	const unknown = names.find((name) => !known.some((part) => part === name));
	if (unknown !== undefined) stopWith(`--without: ${expectedName(known, unknown)}`);
	const unused: readonly string[] = names.includes(UNUSED) ? unusedKinds(config) : [];
	const documents: readonly string[] = names.includes(DOCUMENTS) ? DOCUMENT_KINDS : [];
	return PART_NAMES.filter((part) => [...names, ...documents, ...unused].includes(part));
}

async function buildForWrangler(without: readonly Part[]): Promise<void> {
	if (!isDeployment) await buildWorker();
	if (process.env[SERVED_BUILD] === undefined) await buildIn("deploy", isDeployment ? { without } : {});
}

if (import.meta.main)
	await buildForWrangler(partsLeftOut()).catch((error: unknown) => {
		// The message shows the place in the sources. A stack of the bundler would hide it.
		if (!(error instanceof Error && "errors" in error)) throw error;
		console.error(error.message);
		process.exitCode = 1;
	});
