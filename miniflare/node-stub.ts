/**
 * What Miniflare hands out in Node (`getPlatformProxy()`, `mf.getBindings()`): a stub of the object in the Worker.
 *
 * It is recognised by its class, so the class must be that of the very Miniflare that asks. An `import` finds another
 * copy where this package is linked into a project, or where a tool brings a Miniflare of its own.
 */
import { createRequire } from "node:module";
import type { ProxyNodeBinding } from "miniflare";

const MINIFLARE = /[\\/]miniflare[\\/]dist[\\/]src[\\/]index\.js$/;

/** A stub takes a class for one more function over there. Whoever asks for the name of this one gets the runtime's. */
class Ai {}

const ofClassAi: ProxyHandler<object> = {
	get: (stub, property) => (property === "constructor" ? Ai : Reflect.get(stub, property)),
};

export async function nodeStub(kind: "ai" | "service"): Promise<ProxyNodeBinding> {
	const { cache } = createRequire(import.meta.url);
	const running = Object.keys(cache).find((file) => MINIFLARE.test(file));
	const miniflare: typeof import("miniflare") =
		running === undefined ? await import("miniflare") : cache[running]?.exports;
	return new miniflare.ProxyNodeBinding(kind === "ai" ? ofClassAi : undefined);
}
