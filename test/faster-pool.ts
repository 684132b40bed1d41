/**
 * The pool of Cloudflare's plugin sends each module to the runtime as a string. It would write it character by character, and compress it for a
 * socket of this machine: half of the CPU that the start of a runtime takes. This changes it in a process that has not loaded it yet.
 *
 * It would also send the source map that a file of Vitest's cache has after the code, 38 of 61 MB for each runtime. Only Vitest's own process
 * reads maps.
 */
import { registerHooks } from "node:module";

type Change = readonly [part: string, by: string];

export const POOL = "/@cloudflare/vitest-pool-workers/dist/pool/index.mjs";
/** The client of the pool's socket. */
const SOCKET = "/node_modules/ws/lib/websocket.js";

/** Changes a module before it is loaded. `ending`: of its address. */
export function changeModule(ending: string, changes: readonly Change[]): void {
	registerHooks({
		load(url, context, nextLoad) {
			const loaded = nextLoad(url, context);
			if (!url.endsWith(ending)) return loaded;
			const text =
				typeof loaded.source === "string"
					? loaded.source
					: new TextDecoder().decode(loaded.source as Uint8Array);
			return {
				...loaded,
				source: changes.reduce((source, change) => replaced(url, source, change), text),
			};
		},
	});
}

function replaced(url: string, text: string, [part, by]: Change): string {
	if (!text.includes(part)) throw new Error(`${url} no longer has ${part}`);
	return text.replace(part, () => by);
}

changeModule(POOL, [
	[
		'if (type === "string") return stringify_string(thing);',
		'if (type === "string") return JSON.stringify(thing);',
	],
	[
		'code = fs.readFileSync(tmp, "utf8");',
		'code = fs.readFileSync(tmp, "utf8").replace(/\\n\\/\\/# vitestSourceMap=.*$/, "");',
	],
]);
changeModule(SOCKET, [["perMessageDeflate: true,", "perMessageDeflate: false,"]]);
