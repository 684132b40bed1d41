/** The backends of a request, loaded. */
import type { Backend, Target } from "./backend.ts";
import { type BackendKind, KINDS } from "./kinds.ts";

/** To ask the runtime again for a module that it has costs each request. */
const loaded: Partial<Record<BackendKind, Backend>> = {};

/** A module belongs to no request: it is evaluated once, and a caller who leaves meanwhile takes nothing along. */
async function backendOf(kind: BackendKind): Promise<Backend> {
	const known = loaded[kind];
	if (known) return known;
	const backend = await KINDS[kind].load();
	loaded[kind] = backend;
	return backend;
}

export type Backends = ReadonlyMap<BackendKind, Backend>;

/** Those of all kinds that the targets have. */
export async function backendsOf(targets: readonly Target[]): Promise<Backends> {
	const backends = new Map<BackendKind, Backend>();
	for (const { kind } of targets) if (!backends.has(kind)) backends.set(kind, await backendOf(kind));
	return backends;
}
