/**
 * The binding that Miniflare returns in Node (`getPlatformProxy()`, `mf.getBindings()`): a stub of the object in the Worker.
 *
 * Miniflare recognises the stub by its class, which must come from the running copy of Miniflare. An `import` may find
 * another copy, if this package is linked into a project or a tool has its own Miniflare.
 */
import { createRequire } from "node:module";
import type { ProxyNodeBinding } from "miniflare";

const MINIFLARE = /[\\/]miniflare[\\/]dist[\\/]src[\\/]index\.js$/;

/** `stub.constructor` would be a remote function. It returns this class instead, which has the name of the runtime's class. */
class Ai {}

const withClassAi: ProxyHandler<object> = {
	get: (stub, property) => (property === "constructor" ? Ai : Reflect.get(stub, property)),
};

export async function nodeStub(kind: "ai" | "service"): Promise<ProxyNodeBinding> {
	const { cache } = createRequire(import.meta.url);
	const running = Object.keys(cache).find((file) => MINIFLARE.test(file));
	const miniflare: typeof import("miniflare") =
		running === undefined ? await import("miniflare") : cache[running]?.exports;
	return new miniflare.ProxyNodeBinding(kind === "ai" ? withClassAi : undefined);
}
