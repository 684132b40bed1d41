/**
 * The kind `vectorize`: an index of the hosted product. Its writes are visible after seconds or minutes, and its searches are approximate unless
 * values are returned.
 */
import { collectionOf, type OpenStore, type StoreServices } from "../external-store.ts";
import type { VectorizeSetting } from "../store-settings.ts";
import { BoundIndex } from "./bound-index.ts";
import { RestIndex } from "./rest-index.ts";

/** Of indexes that this gateway creates. */
const PREFIX = "ganglion-";

export function vectorize(
	{ account, binding, index: existing }: VectorizeSetting,
	services: StoreServices,
): OpenStore {
	return (external) => {
		const hosted = existing ?? `${PREFIX}${collectionOf(external.index)}`;
		const isForeign = existing !== undefined;
		const rest = account && new RestIndex({ account, hosted, isForeign, external, services });
		if (binding) return new BoundIndex({ binding, external, rest });
		if (!rest) throw new Error("a store of the kind vectorize has an account or a binding");
		return rest;
	};
}
