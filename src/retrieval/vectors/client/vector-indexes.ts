/**
 * An isolate's client of the vector indexes of all accounts: the registry of an account, and the stores of its indexes. What an isolate knows of
 * an index is at most {@link KNOWN_MS} old; an index that was deleted since then is not found.
 */
import { utcDay } from "../../../accounts/clock.ts";
import { BoundedMap } from "../../../core/bounded-map.ts";
import { hasPassed } from "../../../core/elapsed.ts";
import { AiError } from "../../../core/errors.ts";
import { callStorage, requireDiskSpace } from "../../../core/object-failure.ts";
import type { VectorDay, VectorPeriod } from "../durable/day-table.ts";
import { valueIn } from "../durable/index-answer.ts";
import type { Creation, IndexSize, VectorUsage } from "../durable/registry.ts";
import type { QueryContext } from "../durable/store-queries.ts";
import { indexExists, indexNotFound } from "../failures.ts";
import { MAX_INDEXES } from "../limits.ts";

import type { VectorIndexRecord, VectorMatch, VectorQuery, VectorShape } from "../records.ts";
import type { StoreServices } from "../stores/external-store.ts";
import { ExternalStores } from "../stores/external-stores.ts";
import { BUILTIN, type StorePlacement } from "../stores/store-settings.ts";
import type { VectorStore } from "../vector-store.ts";
import { builtinStore } from "./builtin-store.ts";
import { chosenStore } from "./placement.ts";
import type { QueryCounts } from "./query-counts.ts";
import { VectorMoves } from "./vector-moves.ts";
import type { VectorObjects, VectorRegistryCalls } from "./vector-objects.ts";
import { writeMutation } from "./write-mutation.ts";

const KNOWN_MS = 5_000;
const MAX_KNOWN = 1_000;
/** `VECTORS` */
export interface VectorSettings {
	/** Bytes of all indexes of an account on the disk. */
	maxBytes: number;
	/** Indexes of an account. */
	maxIndexes: number;
	/** Milliseconds until a mutation of a new index of the store `builtin` is visible. */
	delayMs: number;
	placement: StorePlacement;
	prices: VectorPrices;
}

/** US dollars. Both are 0 unless set. */
export interface VectorPrices {
	millionQueriedDimensions: number;
	/** A month. */
	hundredMillionStoredDimensions: number;
}

interface IndexesServices extends VectorObjects, StoreServices {
	settings: VectorSettings;
	queryCounts: QueryCounts;
	uuid(): string;
	waitUntil(promise: Promise<unknown>): void;
}

interface NewIndex extends VectorShape {
	name: string;
	description?: string | undefined;
	delayMs?: number | undefined;
	/** The name of its store. Absent: by `VECTORS`. */
	store?: string | undefined;
}

export class VectorIndexes {
	readonly #services: IndexesServices;
	/** By account and name. */
	readonly #known = new BoundedMap<string, { record: VectorIndexRecord; at: number }>(MAX_KNOWN);
	readonly #external: ExternalStores;
	readonly moves: VectorMoves;

	constructor(services: IndexesServices) {
		this.#services = services;
		const { placement } = services.settings;
		this.#external = new ExternalStores(placement.stores, services);
		this.moves = new VectorMoves({
			...{ placement, now: () => services.now(), uuid: () => services.uuid() },
			call: (account, method) => this.#call(account, method),
			storeOf: (account, index, signal) => this.#storeOf(account, index, signal),
		});
	}

	/** Throws 3002 if the account has an index with the name, and 1001 for a store that does not exist. */
	async create(account: string, index: NewIndex): Promise<VectorIndexRecord> {
		requireDiskSpace("vectors");
		const { now, settings, uuid } = this.#services;
		const { description, dimensions, metric, name } = index;
		const store = chosenStore(account, index, settings.placement);
		const delayMs = store === BUILTIN ? (index.delayMs ?? settings.delayMs) : 0;
		if (store !== BUILTIN && (await this.#call(account, (registry) => registry.get(name))))
			throw indexExists(name);
		const record: VectorIndexRecord = {
			...{ name, dimensions, metric, delayMs, store },
			...(description !== undefined && { description }),
			object: `${account}/${uuid()}`,
			...{ createdAt: now(), modifiedAt: now() },
		};
		const maxIndexes = Math.min(settings.maxIndexes, MAX_INDEXES);
		// An object without a row in the registry is empty for all callers, so the row comes last.
		await this.#storeOf(account, record).create();
		const creation: Creation = await this.#call(account, (registry) => registry.create(record, maxIndexes));
		if (creation === "created") return record;
		await this.#storeOf(account, record).drop();
		if (creation === "exists") throw indexExists(name);
		throw new AiError(
			"invalidRequest",
			`An account may have ${maxIndexes} vector indexes (VECTORS.max_indexes)`,
		);
	}

	/** Throws 3000 if there is none. */
	async get(account: string, name: string): Promise<VectorIndexRecord> {
		const record = await this.#call(account, (registry) => registry.get(name));
		if (!record) throw indexNotFound(name);
		return record;
	}

	list(account: string): Promise<VectorIndexRecord[]> {
		return this.#call(account, (registry) => registry.list());
	}

	/** Throws 3000 if there is none. */
	async delete(account: string, name: string): Promise<void> {
		this.#known.delete(`${account}/${name}`);
		const record = await this.#call(account, (registry) => registry.delete(name, this.#today()));
		if (!record) throw indexNotFound(name);
	}

	/** Deletes the vectors of an index that the registry does not have any more. */
	drop(record: VectorIndexRecord): Promise<void> {
		return this.#storeOf(record.object.slice(0, record.object.lastIndexOf("/")), record).drop();
	}

	/** The index with its store. `signal`: fires when the caller leaves. Throws 3000 if there is none. */
	async open(
		account: string,
		name: string,
		signal?: AbortSignal,
	): Promise<{ index: VectorIndexRecord; store: VectorStore }> {
		const key = `${account}/${name}`;
		const now = this.#services.now();
		const known = this.#known.get(key);
		const index = known && !hasPassed(KNOWN_MS, known.at, now) ? known.record : await this.get(account, name);
		if (index !== known?.record) this.#known.set(key, { record: index, at: now });
		return { index, store: this.#refreshed(account, index, signal) };
	}

	/** As {@link open}, before an upload is read: throws also what would refuse the write, 3040 (429) or 7009 (503). */
	async openToWrite(...index: Parameters<VectorIndexes["open"]>): ReturnType<VectorIndexes["open"]> {
		const opened = await this.open(...index);
		requireDiskSpace("vectors");
		const [account] = index;
		// A stub is made only if its object may be opened.
		this.#services.registry(account);
		if (opened.index.store === BUILTIN) this.#services.index(opened.index.object);
		return opened;
	}

	/** An object that is empty belongs to a deleted index. The name may have another one since then. */
	#refreshed(account: string, index: VectorIndexRecord, signal: AbortSignal | undefined): VectorStore {
		const store = this.#storeOf(account, index, signal);
		const again = async <Value>(method: (store: VectorStore) => Promise<Value>): Promise<Value> => {
			try {
				return await method(store);
			} catch (error) {
				if (!(error instanceof AiError) || error.key !== "vectorIndexNotFound") throw error;
				this.#known.delete(`${account}/${index.name}`);
				const current = await this.get(account, index.name);
				if (current.object === index.object) throw error;
				return method(this.#storeOf(account, current, signal));
			}
		};
		return {
			create: () => store.create(),
			drop: () => store.drop(),
			info: () => again((current) => current.info()),
			write: (mutation) =>
				writeMutation(mutation, index, {
					...{ maxBytes: this.#services.settings.maxBytes, wait: this.#services.wait },
					call: (method) => this.#call(account, method),
					storeOf: (current) => this.#storeOf(account, current, signal),
					moved: () => void this.#known.delete(`${account}/${index.name}`),
				}),
			query: async (query) => {
				const matches = await again((current) => current.query(query));
				this.#services.queryCounts.count(account, index.name, index.dimensions);
				return matches;
			},
			get: (ids) => again((current) => current.get(ids)),
			list: (query) => again((current) => current.list(query)),
			metadataIndexes: () => again((current) => current.metadataIndexes()),
		};
	}

	async usage(account: string): Promise<VectorUsage> {
		await this.#services.queryCounts.flush(account);
		return this.#call(account, (registry) => registry.usage());
	}

	#today(): string {
		return utcDay(this.#services.now());
	}

	get prices(): VectorPrices {
		return this.#services.settings.prices;
	}

	/** What the indexes have used, by day and index. */
	async days(account: string, period: VectorPeriod): Promise<{ rows: VectorDay[]; truncated: boolean }> {
		await this.#services.queryCounts.flush(account);
		return this.#call(account, (registry) => registry.days(period));
	}

	#storeOf(account: string, index: VectorIndexRecord, signal?: AbortSignal): VectorStore {
		const written = (size: IndexSize) =>
			this.#services.waitUntil(
				this.#call(account, (registry) => registry.report(index.name, size, this.#today())).catch(() => {}),
			);
		if (index.store !== BUILTIN) {
			const store = this.#external.storeOf({ index, name: index.store, written, signal });
			if (!this.#external.keepsConnections(index.store)) return store;
			return { ...store, query: (query) => this.#queryInObject(account, index, query, signal) };
		}
		return builtinStore({ account, index, written, object: () => this.#services.index(index.object) });
	}

	/** In the object of the account, which keeps connections between its queries. */
	search(index: VectorIndexRecord, query: VectorQuery, context: QueryContext): Promise<VectorMatch[]> {
		return this.#external.storeOf({ index, name: index.store, ...context }).query(query);
	}

	async #queryInObject(
		account: string,
		index: VectorIndexRecord,
		query: VectorQuery,
		signal: AbortSignal | undefined,
	): Promise<VectorMatch[]> {
		if (signal?.aborted) throw new AiError("aborted");
		const id = this.#services.uuid();
		const leave = () =>
			this.#services.waitUntil(this.#call(account, (registry) => registry.leaveQuery(id)).catch(() => {}));
		signal?.addEventListener("abort", leave, { once: true });
		try {
			const answer = await this.#call(account, (registry) => registry.queryStore(id, index, query));
			return valueIn(answer, index.name);
		} finally {
			signal?.removeEventListener("abort", leave);
		}
	}

	/** Throws 502 if the object cannot be called, and 429 if the account has too many open objects. */
	#call<Value>(account: string, method: (registry: VectorRegistryCalls) => Promise<Value>): Promise<Value> {
		return callStorage(() => method(this.#services.registry(account)), "vectorsUnavailable");
	}
}
