/**
 * The plugin for tests inside workerd, with the runtime's flag `handle_cross_request_promise_resolution` as deployments have it (the default
 * since the compatibility date 2024-10-14): what waits for a promise goes on in the context of its own request, whichever request settles it.
 *
 * The pool switches the flag off, and has no option for it. Without the flag, what waits goes on in the context of the other request, its I/O
 * fails ("Cannot perform I/O on behalf of a different request"), and a test run may never end: the code relies on the flag, and so does what the
 * pool sends to Vitest.
 */
import { registerHooks } from "node:module";

const POOL = "/@cloudflare/vitest-pool-workers/dist/pool/index.mjs";
const SWITCHED_OFF = 'runnerWorker.compatibilityFlags.push("no_handle_cross_request_promise_resolution");';

registerHooks({
	load(url, context, nextLoad) {
		const loaded = nextLoad(url, context);
		if (!url.endsWith(POOL)) return loaded;
		const source = new TextDecoder().decode(loaded.source as Uint8Array<ArrayBuffer>);
		if (!source.includes(SWITCHED_OFF)) throw new Error(`${POOL} no longer has ${SWITCHED_OFF}`);
		return { ...loaded, source: source.replace(SWITCHED_OFF, "") };
	},
});

export const { cloudflareTest } = await import("@cloudflare/vitest-pool-workers");
