/** The backends of a request, loaded. */
import { AiError } from "../core/errors.ts";
import { isLeftOut } from "../core/left-out.ts";
import type { Backend, Target } from "./backend.ts";
import { KINDS, type KindRow } from "./kinds.ts";

const KIND_ROWS: Readonly<Record<string, KindRow>> = KINDS;

/** Kept here, because each `import()` of a loaded module costs time, too. */
const loaded: Partial<Record<string, Backend>> = {};

/**
 * A module is evaluated once and belongs to no request: a request that is cancelled does not affect the loading. Throws 5007
 * for a kind that this build leaves out: the start refuses a configuration with it, but an account's key may need it.
 */
async function backendOf(kind: string): Promise<Backend> {
	const cached = loaded[kind];
	if (cached) return cached;
	const row = isLeftOut(kind) ? undefined : KIND_ROWS[kind];
	if (!row) throw new AiError("noSuchModel", `This deployment has no backends of kind "${kind}"`);
	const backend = await row.load();
	loaded[kind] = backend;
	return backend;
}

export type Backends = ReadonlyMap<string, Backend>;

/** Loads the backends of all kinds among the targets. */
export async function backendsOf(targets: readonly Pick<Target, "kind">[]): Promise<Backends> {
	const backends = new Map<string, Backend>();
	for (const { kind } of targets) backends.set(kind, await backendOf(kind));
	return backends;
}
