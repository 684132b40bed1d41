/**
 * The plugin for tests inside workerd, with four changes for which it has no option.
 *
 * The runtime has the flag `handle_cross_request_promise_resolution`, as deployments have it (the default since the compatibility date
 * 2024-10-14): what waits for a promise goes on in the context of its own request, whichever request settles it. The pool switches the flag
 * off. Then what waits goes on in the context of the other request, its I/O fails ("Cannot perform I/O on behalf of a different request"), and
 * a test run may never end: the code relies on the flag, and so does what the pool sends to Vitest.
 *
 * A call of a Durable Object uses the module of the Worker that is loaded. The pool would import it anew for each call, by a request to
 * another object, which takes about 0.4 ms of CPU.
 *
 * The pool sends each module to the runtime as a string. It would write it character by character, and compress it for a socket of this
 * machine: half of the CPU that the start of a runtime takes.
 */
import { registerHooks } from "node:module";

const POOL = "/@cloudflare/vitest-pool-workers/dist/pool/index.mjs";
const SWITCHED_OFF = 'runnerWorker.compatibilityFlags.push("no_handle_cross_request_promise_resolution");';
/** Where the pool reads a module of the runtime. */
const READ = 'const contents = fs.readFileSync(filePath, "utf8");\n\treturn {\n\t\tkind: filePath';
/** Where it writes a string that it sends. */
const WRITTEN = 'if (type === "string") return stringify_string(thing);';
const WRITTEN_AT_ONCE = 'if (type === "string") return JSON.stringify(thing);';
/** The client of the pool's socket. */
const SOCKET = "/node_modules/ws/lib/websocket.js";
const COMPRESSED = "perMessageDeflate: true,";
const AS_IT_IS = "perMessageDeflate: false,";
/** In the pool's modules of the runtime. */
const INTERNALS = "/worker/lib/cloudflare/test-internal.mjs";
const IMPORT = "async function importModule(specifier) {";
/** Vitest empties the exports of a module that it forgets, and each test file may have a module runner of its own. */
const IMPORT_ONCE = `let imported;
async function importModule(specifier) {
	const runner = __vitest_mocker__.moduleRunner;
	if (imported?.runner === runner && imported.specifier === specifier && imported.node.exports === imported.exports)
		return imported.exports;
	const exports = await importAnew(specifier);
	const nodes = [...(runner.evaluatedModules.getModulesByFile(specifier) ?? [])];
	const node = nodes.find((node) => node.evaluated && node.exports === exports);
	imported = node && { runner, specifier, node, exports };
	return exports;
}
async function importAnew(specifier) {`;

function patched(url: string, source: string): string {
	if (url.endsWith(SOCKET)) return replaced(url, source, COMPRESSED, AS_IT_IS);
	const internals = `fs.readFileSync(filePath, "utf8").replace(${JSON.stringify(IMPORT)}, () => ${JSON.stringify(IMPORT_ONCE)})`;
	const read = `filePath.endsWith(${JSON.stringify(INTERNALS)}) ? ${internals} : fs.readFileSync(filePath, "utf8")`;
	const changes: readonly [part: string, by: string][] = [
		[SWITCHED_OFF, ""],
		[READ, READ.replace('fs.readFileSync(filePath, "utf8")', () => read)],
		[WRITTEN, WRITTEN_AT_ONCE],
	];
	return changes.reduce((text, [part, by]) => replaced(url, text, part, by), source);
}

function replaced(url: string, text: string, part: string, by: string): string {
	if (!text.includes(part)) throw new Error(`${url} no longer has ${part}`);
	return text.replace(part, () => by);
}

registerHooks({
	load(url, context, nextLoad) {
		const loaded = nextLoad(url, context);
		if (!url.endsWith(POOL) && !url.endsWith(SOCKET)) return loaded;
		const source =
			typeof loaded.source === "string"
				? loaded.source
				: new TextDecoder().decode(loaded.source as Uint8Array);
		return { ...loaded, source: patched(url, source) };
	},
});

export const { cloudflareTest } = await import("@cloudflare/vitest-pool-workers");
