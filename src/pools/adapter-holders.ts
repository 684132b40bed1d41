/** Which replicas have which LoRA adapters, as this isolate knows. A hint for the choice: the engine's client loads what is missing. */
import { BoundedMap } from "../core/bounded-map.ts";

/** Adapters of one replica that are remembered. Callers choose the names. */
const MAX_NAMES = 1_000;
/** Of all pools, with those that were removed. */
const MAX_REPLICAS = 10_000;

class AdapterHolders {
	/** By the address of the replica: ids of adapters, by the names that requests give them. */
	readonly #ids = new BoundedMap<string, Map<string, string>>(MAX_REPLICAS);

	/** `name`: as requests name it. */
	has(url: string, name: string): boolean {
		return this.#ids.get(url)?.has(name) ?? false;
	}

	add(url: string, name: string, id: string): void {
		const ids = this.#ids.get(url) ?? new BoundedMap(MAX_NAMES);
		this.#ids.set(url, ids);
		ids.set(name, id);
	}

	/** By all its names. */
	delete(url: string, id: string): void {
		const ids = this.#ids.get(url);
		for (const [name, known] of ids ?? []) if (known === id) ids?.delete(name);
	}
}

/** Of the process: an engine has its adapters, whichever pool calls it. */
export const holders = new AdapterHolders();
