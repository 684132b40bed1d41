import { randomInt } from "node:crypto";
import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { defineConfig, type TestProjectConfiguration } from "vitest/config";
import { freePort } from "./scripts/free-port.ts";
import { TEMPLATE_ALIASES } from "./test/clients/batch-template.ts";
import { KEYS, PORT_VARIABLE, routesOf } from "./test/clients/providers/routes.ts";
import { CLIENT_ROUTES } from "./test/clients/routes.ts";
import { CHROMIUM } from "./test/console/chromium.ts";
import { LongestFirst } from "./test/longest-first.ts";
import { RUN_FOLDER } from "./test/run-folder.ts";
import { cloudflareTest } from "./test/runtime-flags.ts";
import { linkPinnedClients } from "./tools/clients/pinned.ts";

linkPinnedClients();

/** What `binding` loads; their modules would be a thousand, most of them for other providers. */
const CLIENTS = [
	"@ai-sdk/anthropic",
	"@ai-sdk/google",
	"@ai-sdk/openai",
	"@cloudflare/ai-utils",
	"@cloudflare/tanstack-ai",
	"@langchain/cloudflare",
	"@tanstack/ai",
	"ai",
	"openai",
	"workers-ai-provider",
	"workers-ai-provider/anthropic",
	"workers-ai-provider/gateway",
	"workers-ai-provider/google",
	"workers-ai-provider/openai",
];

/** What the sources and their tests load. One module each, instead of their 700 files. */
const LIBRARIES = [
	"@cfworker/json-schema",
	"@e965/xlsx",
	"@rgrove/parse-xml",
	"aws4fetch",
	"cloudflare",
	"eventsource-parser",
	"fast-check",
	"fast-png",
	"fflate",
	"hast-util-from-parse5",
	"hast-util-select",
	"hast-util-to-mdast",
	"hono",
	"hono/cors",
	"hono/router/trie-router",
	"image-size",
	"image-size/types/bmp",
	"image-size/types/gif",
	"image-size/types/heif",
	"image-size/types/png",
	"image-size/types/webp",
	"jpeg-js",
	"mammoth",
	"mdast-util-gfm",
	"mdast-util-to-markdown",
	"music-metadata",
	"odf-kit/odt-reader",
	"openai",
	"papaparse",
	"parse5",
	"unpdf",
	"wavefile",
	"zod",
];

/** What tests of the gateway call it with. */
const SDKS = [
	"@ai-sdk/anthropic",
	"@ai-sdk/google",
	"@ai-sdk/openai",
	"@ai-sdk/openai-compatible",
	"@anthropic-ai/sdk",
	"@google/genai",
	"@langchain/cloudflare",
	"ai",
	"ai-gateway-provider",
	"ai-gateway-provider/providers/unified",
	"workers-ai-provider",
	"workers-ai-provider/openai",
];

// Each account's object is an SQLite file that waits for the disk at every commit. A disk in memory does not wait.
// Containers may have only 64 MB of it.
const MEMORY_DISK = "/dev/shm";
const hasMemoryDisk = freeBytes(MEMORY_DISK) > 2 ** 30;
const folder = mkdtempSync(join(hasMemoryDisk ? MEMORY_DISK : tmpdir(), "ganglion-tests-"));
if (hasMemoryDisk) process.env.TMPDIR = folder;
process.env[RUN_FOLDER] = folder;
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
// The tests start more than a hundred processes of Node, and wrangler has 10 MB of source: each is compiled once.
process.env.NODE_COMPILE_CACHE = join(folder, "compiled");
enableCompileCache(process.env.NODE_COMPILE_CACHE);
// Most objects of a test are garbage at its end, and the cores are busy: a runtime that collects seldom, on its own thread, takes about 7% less
// CPU. Each runtime prints once that it does not use its compile cache, because that was made with other flags. `ganglion serve` does not read this
// variable.
process.env.MINIFLARE_WORKERD_V8_FLAGS ??=
	"--single-threaded-gc --min-semi-space-size=64 --max-semi-space-size=64 --initial-heap-size=500";

function freeBytes(directory: string): number {
	try {
		const { bavail, bsize } = statfsSync(directory);
		return bavail * bsize;
	} catch {
		return 0;
	}
}

/** Where the providers of `binding` are going to listen, which the plugin's options must say before they do. */
process.env[PORT_VARIABLE] ??= String(await freePort());
const providers = routesOf(`http://127.0.0.1:${process.env[PORT_VARIABLE]}`);

function bundled(include: string[]) {
	return { enabled: true, include, rolldownOptions: { external: [/^node:/] } };
}

/** Tables of the sources, to those with one more row. */
const TABLES = new Map(
	[
		["src/tasks/index.ts", "tasks.ts"],
		["src/models/families.ts", "model-families.ts"],
		["src/dialects/families.ts", "dialect-families.ts"],
		["src/backends/kinds.ts", "kinds.ts"],
		["src/backends/loaders.ts", "loaders.ts"],
		["src/providers/providers.ts", "providers.ts"],
		["src/surfaces/routes.ts", "routes.ts"],
	].map(([table = "", more = ""]) => [resolve(table), resolve("test/extending/tables", more)]),
);

const moreRows = {
	name: "more-rows",
	enforce: "pre" as const,
	resolveId(source: string, importer: string | undefined) {
		if (!importer || importer.startsWith(resolve("test/extending/tables"))) return undefined;
		return TABLES.get(resolve(dirname(importer), source));
	},
};

const gateway = () =>
	cloudflareTest({
		// The sources, not what is built of them.
		main: "./src/index.ts",
		wrangler: { configPath: "./wrangler.jsonc" },
		miniflare: {
			// Lets a caller hand an `AbortSignal` over RPC; experimental, so deployments do without.
			compatibilityFlags: ["enable_abortsignal_rpc", "enable_request_signal", "no_web_socket_compression"],
			bindings: { ALLOW_ANONYMOUS: "true", DEFAULT_BACKEND: "simulator" },
			// Optional, so it is not in wrangler.jsonc.
			r2Buckets: ["LOGS_BUCKET"],
		},
	});

/**
 * For tests that wait for processes and sockets: a machine that is busy delays them, and fails none. On CI, which shares its machine, they
 * have a second try, which the report names.
 */
const PATIENT = {
	testTimeout: 180_000,
	hookTimeout: 180_000,
	retry: process.env.CI ? 1 : 0,
	expect: { poll: { timeout: 60_000 } },
};
/** For tests inside workerd. The first use of what the Worker loads late transforms its libraries, and the machine may be busy. */
const PATIENT_IN_WORKERD = { testTimeout: 60_000, expect: { poll: { timeout: 30_000 } } };
/** The modules keep nothing that one file changes for another, so the files of a worker load them once. */
const SHARED_MODULES = { isolate: false };

/** The web console in Chromium, against `ganglion serve` and `npm run dev`. Without Chromium its tests cannot run. */
const consoleProject: TestProjectConfiguration[] = CHROMIUM
	? [
			{
				test: {
					name: "console",
					include: ["test/console/*.test.ts"],
					globalSetup: ["test/built.ts", "test/console/gateways.ts"],
					...SHARED_MODULES,
					...PATIENT,
				},
			},
		]
	: [];
if (!CHROMIUM)
	console.warn("The tests of the console do not run: install Chromium, or set CHROMIUM to its path.");

/** Every run has the same inputs, so that a change fails by its own faults only. `PROPERTY_SEED=random` searches for others. */
const propertySeed =
	process.env.PROPERTY_SEED === "random"
		? randomInt(2 ** 31)
		: Number(process.env.PROPERTY_SEED ?? 20_261_122);

declare module "vitest" {
	interface ProvidedContext {
		propertySeed: number;
	}
}

export default defineConfig({
	test: {
		provide: { propertySeed },
		// Most process tests wait. The sequencer runs them beside the tests inside workerd, which need a core each.
		maxWorkers: availableParallelism() + 2,
		sequence: { sequencer: LongestFirst },
		// Sources and tests that have not changed since the last run are not transformed again.
		fsModuleCache: true,
		projects: [
			{
				// Everything that runs in a Worker is tested in one.
				plugins: [gateway()],
				// Vite does not know all their extensions.
				assetsInclude: ["test/fixtures/documents/*"],
				test: {
					name: "worker",
					// One Worker for all files: the code keeps no state between requests, and neither may its tests.
					isolate: false,
					include: ["test/**/*.test.ts"],
					exclude: ["test/clients/**", "test/console/**", "test/extending/**", "test/node/**"],
					// What an object prints would be a call to Vitest, whose answer never arrives if the object's request has ended; the run would not end.
					disableConsoleIntercept: true,
					setupFiles: ["test/property-settings.ts", "test/real-timers.ts", "test/own-counts.ts"],
					globalSetup: ["test/storage/blobs/s3-server.ts"],
					...PATIENT_IN_WORKERD,
					deps: { optimizer: { ssr: bundled([...LIBRARIES, ...SDKS]) } },
				},
			},
			{
				// With tables that have more rows, so it has a Worker of its own.
				plugins: [moreRows, gateway()],
				test: {
					name: "extending",
					include: ["test/extending/*.test.ts"],
					...PATIENT_IN_WORKERD,
					deps: { optimizer: { ssr: bundled(LIBRARIES) } },
				},
			},
			{
				// The project's own scripts and packages, on Node.
				test: {
					name: "node",
					setupFiles: ["test/property-settings.ts", "test/real-timers.ts"],
					include: ["test/node/**/*.test.ts"],
					globalSetup: "test/built.ts",
					...SHARED_MODULES,
					...PATIENT,
				},
			},
			{
				// Published clients on Node, against a started gateway.
				test: {
					name: "clients",
					include: ["test/clients/*.test.ts"],
					globalSetup: ["test/built.ts", "test/clients/setup.ts"],
					...SHARED_MODULES,
					...PATIENT,
				},
			},
			...consoleProject,
			{
				// Published clients in a Worker that has `env.AI`, as the built package gives it.
				logLevel: "error",
				plugins: [
					cloudflareTest({
						miniflare: {
							compatibilityDate: "2026-10-01",
							compatibilityFlags: ["nodejs_compat"],
							unsafeBindings: [
								{
									name: "AI",
									type: "ai",
									plugin: {
										package: resolve("dist/miniflare/index.js"),
										name: "ganglion",
									},
									options: { ROUTES: CLIENT_ROUTES, ALIASES: TEMPLATE_ALIASES },
								},
								{
									name: "PROVIDED",
									type: "ai",
									plugin: {
										package: resolve("dist/miniflare/index.js"),
										name: "ganglion",
									},
									options: providers,
								},
								{
									name: "VECTORIZE",
									type: "vectorize",
									plugin: {
										package: resolve("dist/miniflare/index.js"),
										name: "ganglion",
									},
									options: {
										...{ index_name: "docs", dimensions: 3, metric: "euclidean" },
										metadata_indexes: { page: "number", text: "string" },
										ROUTES: CLIENT_ROUTES,
									},
								},
								{
									name: "LATE_VECTORIZE",
									type: "vectorize",
									plugin: {
										package: resolve("dist/miniflare/index.js"),
										name: "ganglion",
									},
									options: { index_name: "late", ROUTES: CLIENT_ROUTES },
								},
							],
							bindings: KEYS,
						},
					}),
				],
				test: {
					name: "binding",
					isolate: false,
					include: ["test/clients/binding/*.test.ts"],
					// As above: the plugin's Worker loads backends late, too.
					testTimeout: 60_000,
					globalSetup: ["test/built.ts", "test/clients/binding/providers.ts"],
					deps: { optimizer: { ssr: bundled(CLIENTS) } },
				},
			},
		],
	},
});
