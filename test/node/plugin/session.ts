/** A session of Miniflare with the plugin in it: one Worker or several, each with bindings of its own. */
import { buildSync } from "esbuild";
import { convertV4MiniflareOptions, Miniflare, type MiniflareOptions } from "miniflare";
import { unstable_readConfig as readConfig } from "wrangler";
import { isWasm, modulesIn } from "../../../miniflare/modules.ts";
import { DOCUMENTS_BINDING } from "../../../src/config/worker-bindings.ts";

export interface SessionWorker {
	/** `dev.options` of each binding, by name. */
	bindings: Record<string, object>;
	/** As `services` has them instead. */
	services?: Record<string, object>;
	/** Options of bindings of the type `vectorize`, by name. */
	indexes?: Record<string, object>;
	vars?: Record<string, string>;
	script: string;
}

/** A module of these tests, and what it imports, as one script. */
export const bundled = (contents: string): string =>
	buildSync({
		stdin: { contents, resolveDir: import.meta.dirname, loader: "ts" },
		bundle: true,
		format: "esm",
		write: false,
	}).outputFiles[0]?.text ?? "";

export function sessionOptions(plugin: string, workers: Record<string, SessionWorker>): MiniflareOptions {
	const binding =
		(type: string, more: object) =>
		([name, options]: [string, object]) => ({
			name,
			type,
			plugin: { package: plugin, name: "ganglion" },
			options: { ...more, ...options },
		});
	const service = { type: "service", service: "ganglion", entrypoint: "AI" };
	return convertV4MiniflareOptions({
		cf: false,
		workers: Object.entries(workers).map(
			([name, { bindings, indexes = {}, script, services = {}, vars = {} }]) => ({
				name,
				modules: true as const,
				script,
				compatibilityDate: "2026-10-01",
				bindings: vars,
				unsafeBindings: [
					...Object.entries(bindings).map(binding("ai", {})),
					...Object.entries(indexes).map(binding("vectorize", {})),
					...Object.entries(services).map(binding("service", service)),
				] as never,
			}),
		),
	});
}

export const startSession = (plugin: string, workers: Record<string, SessionWorker>): Miniflare =>
	new Miniflare(sessionOptions(plugin, workers));

/** The packed Worker as a gateway of its own, open to this machine. `converter`: the address of a converter of documents. */
export function startGateway(folder: string, converter: string): Miniflare {
	const { compatibility_flags, durable_objects } = readConfig({ config: "wrangler.jsonc" });
	const objects = durable_objects.bindings.map(
		({ name, class_name: className }: { name: string; class_name?: string }) => [
			name,
			{ className, useSQLite: true },
		],
	);
	return new Miniflare(
		convertV4MiniflareOptions({
			cf: false,
			name: "gateway",
			rootPath: folder,
			modulesRoot: folder,
			modules: modulesIn(folder).map(({ name, file: path }) => ({
				type: isWasm(name) ? ("CompiledWasm" as const) : ("ESModule" as const),
				path,
			})),
			compatibilityDate: "2026-08-01",
			compatibilityFlags: compatibility_flags,
			durableObjects: Object.fromEntries(objects),
			bindings: {
				ALLOW_ANONYMOUS: "true",
				DEFAULT_BACKEND: "simulator",
				[DOCUMENTS_BINDING]: converter,
			},
		}),
	);
}
