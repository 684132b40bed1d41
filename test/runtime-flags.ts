/**
 * The plugin for tests inside workerd, with changes for which it has no option.
 *
 * The runtime has the flag `handle_cross_request_promise_resolution`, as deployments have it (the default since the compatibility date
 * 2024-10-14): what waits for a promise goes on in the context of its own request, whichever request settles it. The pool switches the flag
 * off. Then what waits goes on in the context of the other request, its I/O fails ("Cannot perform I/O on behalf of a different request"), and
 * a test run may never end: the code relies on the flag, and so does what the pool sends to Vitest.
 *
 * A call of a Durable Object uses the module of the Worker that is loaded. The pool would import it anew for each call, by a request to
 * another object, which takes about 0.4 ms of CPU.
 */
import { changeModule, POOL } from "./faster-pool.ts";

const SWITCHED_OFF = 'runnerWorker.compatibilityFlags.push("no_handle_cross_request_promise_resolution");';
/** Where the pool reads a module of the runtime. */
const READ = 'const contents = fs.readFileSync(filePath, "utf8");\n\treturn {\n\t\tkind: filePath';
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

const INTERNALS_READ = `fs.readFileSync(filePath, "utf8").replace(${JSON.stringify(IMPORT)}, () => ${JSON.stringify(IMPORT_ONCE)})`;
const READ_CHANGED = `filePath.endsWith(${JSON.stringify(INTERNALS)}) ? ${INTERNALS_READ} : fs.readFileSync(filePath, "utf8")`;

changeModule(POOL, [
	[SWITCHED_OFF, ""],
	[READ, READ.replace('fs.readFileSync(filePath, "utf8")', () => READ_CHANGED)],
]);

export const { cloudflareTest } = await import("@cloudflare/vitest-pool-workers");
