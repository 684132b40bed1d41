/**
 * The binding that Miniflare returns in Node (`getPlatformProxy()`, `mf.getBindings()`): a stub of the object in the Worker.
 *
 * Miniflare recognises the stub by its class, which must come from the running copy of Miniflare. An `import` may find
 * another copy, if this package is linked into a project or a tool has its own Miniflare.
 */
import { createRequire } from "node:module";
import type { ProxyNodeBinding } from "miniflare";
import { webSearchCall } from "./web-search-call.ts";

const MINIFLARE = /[\\/]miniflare[\\/]dist[\\/]src[\\/]index\.js$/;

/** `stub.constructor` would be a remote function. It returns one of these instead, which have the names of the runtime's classes. */
class Ai {}
class VectorizeIndexImpl {}

/** The runtime's class searches over RPC, and Miniflare cannot return that response. It can return that of `fetch`. */
const searchOf =
	(stub: object) =>
	(...search: Parameters<typeof webSearchCall>) =>
		Reflect.get(stub, "fetch")(...webSearchCall(...search));

const withClassAi: ProxyHandler<object> = {
	get: (stub, property) => {
		if (property === "constructor") return Ai;
		return property === "websearch" ? searchOf(stub) : Reflect.get(stub, property);
	},
};

const withClassVectorize: ProxyHandler<object> = {
	get: (stub, property) => (property === "constructor" ? VectorizeIndexImpl : Reflect.get(stub, property)),
};

/** Miniflare does not return the properties of a remote object. A method of ours returns the same objects. */
const withParts: ProxyHandler<object> = {
	get: (stub, property) =>
		property === "items" || property === "jobs"
			? Reflect.get(stub, "part")(property)
			: Reflect.get(stub, property),
};

/** Instances of a namespace. */
const withInstances: ProxyHandler<object> = {
	get(stub, property) {
		const member: unknown = Reflect.get(stub, property);
		if (typeof member !== "function") return member;
		if (property === "get") return (name: unknown) => new Proxy(member(name), withParts);
		if (property === "create") return async (config: unknown) => new Proxy(await member(config), withParts);
		return member;
	},
};

const HANDLERS = {
	ai: withClassAi,
	vectorize: withClassVectorize,
	searchInstance: withParts,
	searchNamespace: withInstances,
	service: undefined,
};

/** The class of a binding: the runtime's, or none. */
export type BindingClass = keyof typeof HANDLERS;

export async function nodeStub(kind: BindingClass): Promise<ProxyNodeBinding> {
	const { cache } = createRequire(import.meta.url);
	const running = Object.keys(cache).find((file) => MINIFLARE.test(file));
	const miniflare: typeof import("miniflare") =
		running === undefined ? await import("miniflare") : cache[running]?.exports;
	return new miniflare.ProxyNodeBinding(HANDLERS[kind]);
}
