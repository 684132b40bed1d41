/** The stores outside of this gateway, by their names. The module of a kind is loaded at the first use of an index in such a store. */
import { AiError } from "../../../core/errors.ts";
import type { VectorStore } from "../vector-store.ts";
import type { ExternalIndex, OpenStore, StoreServices } from "./external-store.ts";
import type { StorePlacement, StoreSetting } from "./store-settings.ts";

export class ExternalStores {
	readonly #settings: StorePlacement["stores"];
	readonly #services: StoreServices;
	readonly #opened = new Map<string, OpenStore>();

	constructor(settings: StorePlacement["stores"], services: StoreServices) {
		this.#settings = settings;
		this.#services = services;
	}

	/** Its queries use connections that the object of the account keeps. Hyperdrive has a pool of its own. */
	keepsConnections(name: string): boolean {
		const setting = this.#settings.get(name);
		return setting?.kind === "pgvector" && !("hyperdrive" in setting.server);
	}

	/** Each method throws 502 if the configuration has no such store any more. */
	storeOf(external: ExternalIndex): VectorStore {
		const store = async () => (await this.#open(external.name))(external);
		return {
			create: async () => (await store()).create(),
			drop: async () => (await store()).drop(),
			info: async () => (await store()).info(),
			write: async (mutation) => (await store()).write(mutation),
			query: async (query) => (await store()).query(query),
			get: async (ids) => (await store()).get(ids),
			list: async (query) => (await store()).list(query),
			metadataIndexes: async () => (await store()).metadataIndexes(),
		};
	}

	async #open(name: string): Promise<OpenStore> {
		const opened = this.#opened.get(name);
		if (opened) return opened;
		const setting = this.#settings.get(name);
		if (!setting)
			throw new AiError(
				"vectorsUnavailable",
				`The index is in the vector store "${name}", which VECTORS.stores does not have`,
			);
		const open = await connected(setting, this.#services);
		// Another request may have been faster.
		const first = this.#opened.get(name) ?? open;
		this.#opened.set(name, first);
		return first;
	}
}

async function connected(setting: StoreSetting, services: StoreServices): Promise<OpenStore> {
	switch (setting.kind) {
		case "pgvector":
			return (await import("./pgvector/index.ts")).pgvector(setting, services);
		case "qdrant":
			return (await import("./qdrant/index.ts")).qdrant(setting, services);
		case "vectorize":
			return (await import("./vectorize/index.ts")).vectorize(setting, services);
		default:
			return setting satisfies never;
	}
}
