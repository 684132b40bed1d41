/** The backends of a request, loaded. */
import { AiError } from "../core/errors.ts";
import { isLeftOut } from "../core/left-out.ts";
import type { Backend, Target } from "./backend.ts";
import { type BackendKind, KINDS } from "./kinds.ts";

/** Kept here, because each `import()` of a loaded module costs time, too. */
const loaded: Partial<Record<BackendKind, Backend>> = {};

/**
 * A module is evaluated once and belongs to no request: a request that is cancelled does not affect the loading. Throws 5007
 * for a kind that this build leaves out: the start refuses a configuration with it, but an account's key may need it.
 */
async function backendOf(kind: BackendKind): Promise<Backend> {
	const cached = loaded[kind];
	if (cached) return cached;
	if (isLeftOut(kind)) throw new AiError("noSuchModel", `This deployment has no backends of kind "${kind}"`);
	const backend = await KINDS[kind].load();
	loaded[kind] = backend;
	return backend;
}

export type Backends = ReadonlyMap<BackendKind, Backend>;

/** Loads the backends of all kinds among the targets. */
export async function backendsOf(targets: readonly Pick<Target, "kind">[]): Promise<Backends> {
	const backends = new Map<BackendKind, Backend>();
	for (const { kind } of targets) backends.set(kind, await backendOf(kind));
	return backends;
}
