/** The store of a new index, and of one that moves. */
import { AiError } from "../../../core/errors.ts";
import { matches } from "../../../pipeline/route.ts";
import { expectedName } from "../../../schemas/explain.ts";
import { BUILTIN, type StorePlacement } from "../stores/store-settings.ts";

interface PlacedIndex {
	name: string;
	delayMs?: number | undefined;
	/** The name of its store. Absent: by `VECTORS`. */
	store?: string | undefined;
}

/** Throws 1001. */
export function chosenStore(
	account: string,
	{ delayMs = 0, name, store }: PlacedIndex,
	placement: StorePlacement,
): string {
	const { defaultStore, patterns } = placement;
	const requested = store ?? patterns.find(([pattern]) => matches(pattern, name))?.[1] ?? defaultStore;
	const chosen = namedStore(account, name, requested, placement);
	if (chosen !== BUILTIN && delayMs > 0)
		throw new AiError("invalidRequest", `delay_ms: expected 0, because the store "${chosen}" has no delay`);
	return chosen;
}

/** Throws 1001. */
export function namedStore(
	account: string,
	index: string,
	store: string,
	{ stores }: StorePlacement,
): string {
	if (store === BUILTIN) return store;
	const setting = stores.get(store);
	if (!setting) {
		const cure = stores.size === 0 ? " (further stores: VECTORS.stores)" : "";
		throw new AiError("invalidRequest", `store: ${expectedName([BUILTIN, ...stores.keys()], store)}${cure}`);
	}
	const { only } = "only" in setting ? setting : {};
	if (only && (only.account !== account || only.index !== index))
		throw new AiError("invalidRequest", `store: the store "${store}" is for one index, which is another one`);
	return store;
}
