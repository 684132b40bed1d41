/**
 * The kind `qdrant`: a Qdrant server of version 1.10 or newer. Each index has a collection, and a point of a common collection has its state. A
 * search is approximate in a large collection, by the server's HNSW index.
 *
 * A list shows the vectors of its beginning for an hour, and writes nothing. So a deleted vector is only marked. The first deletion after this hour
 * removes it, or the first other write an hour after the latest deletion.
 *
 * A write of more than 24 MB goes in several requests, and becomes visible part by part. If one fails, the parts before it stay.
 */
import { cursorOf, readCursor, SNAPSHOT_MS } from "../../cursor.ts";
import { tooManyMetadataIndexes } from "../../failures.ts";
import { changedProperties, selectedConditions } from "../../properties.ts";
import type {
	MetadataIndex,
	Mutation,
	StoredVector,
	VectorBatch,
	VectorIndexInfo,
	VectorListQuery,
	VectorMatch,
	VectorMetric,
	VectorPage,
	VectorQuery,
} from "../../records.ts";
import type { VectorStore } from "../../vector-store.ts";
import {
	betterFirst,
	collectionOf,
	distinct,
	type ExternalIndex,
	type OpenStore,
	type StoreServices,
} from "../external-store.ts";
import type { QdrantSetting } from "../store-settings.ts";
import { QdrantApi, type QdrantPoint } from "./api.ts";
import type { QdrantCondition } from "./conditions.ts";
import { filterOf, LIVE, propertyField } from "./filter.ts";
import {
	byBytes,
	FIELDS,
	fieldsOf,
	indexedMetadata,
	pointId,
	pointJson,
	recordOf,
	searchedVector,
	storedVector,
	VALUES,
	valuesOf,
	vectorSettings,
} from "./points.ts";
import { type QdrantState, StatePoint } from "./state-point.ts";

/** Candidates of a search in the HNSW index. A query has at most 100 results. */
const EF_SEARCH = 200;
const FLOAT_BYTES = 4;
const MICROSECONDS = 1_000;

/** Times of mutations and lists in microseconds, each larger than the one before. */
let lastTime = 0;
function nextTime(now: number): number {
	lastTime = Math.max(lastTime + 1, now * MICROSECONDS);
	return lastTime;
}

class QdrantStore implements VectorStore {
	readonly #api: QdrantApi;
	readonly #external: ExternalIndex;
	readonly #services: StoreServices;
	readonly #collection: string;
	readonly #state: StatePoint;

	constructor(setting: QdrantSetting, external: ExternalIndex, services: StoreServices) {
		this.#api = new QdrantApi(setting, external, services);
		this.#external = external;
		this.#services = services;
		this.#collection = `${setting.prefix}${collectionOf(external.index)}`;
		this.#state = new StatePoint(this.#api, external.index, setting.prefix);
	}

	async create(): Promise<void> {
		const { dimensions, metric } = this.#external.index;
		await this.#api.require(this.#collection, { vectors: vectorSettings(metric, dimensions) });
		for (const [field, type] of Object.entries(FIELDS)) await this.#createField(field, type);
		await this.#state.create();
	}

	#createField(field_name: string, field_schema: string): Promise<unknown> {
		return this.#api.call("PUT", `/${this.#collection}/index?wait=true`, { field_name, field_schema });
	}

	async drop(): Promise<void> {
		await this.#api.remove("DELETE", `/${this.#collection}`);
		await this.#state.delete();
	}

	async #count(must: readonly QdrantCondition[]): Promise<number> {
		const body = { filter: { must }, exact: true };
		const result = (await this.#api.call("POST", `/${this.#collection}/points/count`, body)) as {
			count?: unknown;
		};
		return typeof result?.count === "number" ? result.count : this.#api.unreadable();
	}

	async info(): Promise<VectorIndexInfo> {
		const { processedAt, processedMutation } = await this.#state.read();
		return {
			vectorCount: await this.#count([LIVE]),
			...(processedAt !== undefined && { processedAt }),
			...(processedMutation !== undefined && { processedMutation }),
		};
	}

	async write(mutation: Mutation): Promise<string> {
		const state = await this.#state.read();
		const now = this.#services.now();
		const time = nextTime(now);
		if ("index" in mutation) await this.#changeProperties(mutation.operation, mutation.index, state);
		else if ("ids" in mutation) await this.#remove(mutation.ids, time);
		else for (const batch of mutation.batches) await this.#put(mutation.operation, batch, { time, state });
		const deletedAt = await this.#removeExpired(mutation, state.deletedAt);
		await this.#state.change({ deletedAt, processedAt: now, processedMutation: mutation.id });
		const { index, written } = this.#external;
		if (written) {
			const vectors = await this.#count([LIVE]);
			const copies = index.metric === "cosine" ? 2 : 1;
			written({ vectors, bytes: vectors * index.dimensions * FLOAT_BYTES * copies });
		}
		return mutation.id;
	}

	/** Throws 40028 if there would be too many. */
	async #changeProperties(
		operation: Mutation["operation"],
		index: MetadataIndex,
		{ properties }: QdrantState,
	): Promise<void> {
		const next = changedProperties(operation, index, properties);
		if (!next) throw tooManyMetadataIndexes();
		const added = next.all.filter(({ number }) => number > properties.last);
		const kept = new Set(next.all.map(({ number }) => number));
		const removed = properties.all.filter(({ number }) => !kept.has(number));
		for (const [field, type] of added.flatMap(fieldsOf)) await this.#createField(field, type);
		await this.#state.change({ properties: next });
		for (const [field] of removed.flatMap(fieldsOf))
			await this.#api.call("DELETE", `/${this.#collection}/index/${field}?wait=true`);
	}

	async #put(
		operation: "insert" | "upsert",
		batch: VectorBatch,
		{ time, state }: { time: number; state: QdrantState },
	): Promise<void> {
		const { dimensions, metric } = this.#external.index;
		const positions = distinct(batch, operation);
		const known = await this.#known(positions.map((position) => batch.records[position]?.id ?? ""));
		const isLive = (id: string): boolean => known.get(id)?.deleted === 0;
		const points = positions.flatMap((position) => {
			const record = batch.records[position] ?? { id: "" };
			if (operation === "insert" && isLive(record.id)) return [];
			const created = known.get(record.id)?.created ?? time;
			const values = batch.values.subarray(position * dimensions, (position + 1) * dimensions);
			return pointJson({ ...{ record, values, created, metric }, properties: state.properties.all });
		});
		// A vector that another process inserts meanwhile stays, if the server knows the mode (1.17).
		const isNew = operation === "insert" && known.size === 0;
		const mode = isNew ? ',"update_mode":"insert_only"' : "";
		for (const part of byBytes(points))
			await this.#api.call(
				"PUT",
				`/${this.#collection}/points?wait=true`,
				`{"points":[${part.join()}]${mode}}`,
			);
	}

	/** The times of points that exist, by the ids of their vectors. */
	async #known(ids: readonly string[]): Promise<Map<string, { created: number; deleted: number }>> {
		const body = { ids: ids.map(pointId), with_payload: ["id", "created", "deleted"], with_vector: false };
		const points = await this.#api.points(`/${this.#collection}/points`, body);
		return new Map(
			points.map(({ payload: { created, deleted, id } }) => [
				String(id),
				{ created: Number(created), deleted: Number(deleted) },
			]),
		);
	}

	async #remove(ids: readonly string[], time: number): Promise<void> {
		const filter = { must: [{ has_id: ids.map(pointId) }, LIVE] };
		const body = { payload: { deleted: time }, filter };
		await this.#api.call("POST", `/${this.#collection}/points/payload?wait=true`, body);
	}

	/**
	 * Removes vectors whose deletion is an hour ago. Returns when the latest of those that stay was deleted, 0 without any. A process that ends between
	 * the mark and the new state leaves marks of which the state knows nothing: they are removed with those of a later deletion.
	 */
	async #removeExpired(mutation: Mutation, deletedAt: number): Promise<number> {
		const now = this.#services.now();
		const removes = "ids" in mutation;
		const areAllExpired = deletedAt <= now - SNAPSHOT_MS;
		if (deletedAt > 0 && (removes || areAllExpired)) {
			const expired = { gt: 0, lte: (now - SNAPSHOT_MS) * MICROSECONDS };
			const body = { filter: { must: [{ key: "deleted", range: expired }] } };
			await this.#api.call("POST", `/${this.#collection}/points/delete?wait=true`, body);
		}
		if (removes) return now;
		return areAllExpired ? 0 : deletedAt;
	}

	async query(query: VectorQuery): Promise<VectorMatch[]> {
		const { metric } = this.#external.index;
		const { properties } = await this.#state.read();
		const conditions = selectedConditions(query.filter, properties.all);
		const vector =
			typeof query.vector === "string" ? (await this.get([query.vector]))[0]?.values : query.vector;
		if (!vector) return [];
		const fields = {
			none: [],
			all: ["metadata"],
			indexed: properties.all.map(({ number }) => propertyField(number)),
		}[query.returnMetadata];
		const points = await this.#api.points(`/${this.#collection}/points/query`, {
			...{ query: [...vector], using: searchedVector(metric), limit: query.topK },
			...{ filter: filterOf(query, conditions), params: { hnsw_ef: EF_SEARCH } },
			...{ with_payload: ["id", "namespace", ...fields], with_vector: query.returnValues ? [VALUES] : false },
		});
		return points
			.map((point): VectorMatch => {
				const metadata =
					query.returnMetadata === "indexed" ? indexedMetadata(point, properties.all) : undefined;
				return {
					...{ ...recordOf(point), score: scoreOf(point, metric) },
					...(metadata !== undefined && { metadata }),
					...(query.returnValues && { values: valuesOf(point) }),
				};
			})
			.sort(betterFirst(metric));
	}

	async get(ids: readonly string[]): Promise<StoredVector[]> {
		const body = {
			...{ ids: ids.map(pointId), with_vector: [VALUES] },
			with_payload: ["id", "namespace", "metadata", "deleted"],
		};
		const points = await this.#api.points(`/${this.#collection}/points`, body);
		const live = points.filter(({ payload }) => payload.deleted === 0).map(storedVector);
		const found = new Map(live.map((vector) => [vector.id, vector]));
		return ids.flatMap((id) => found.get(id) ?? []);
	}

	/** In the order of the points. */
	async list({ count, cursor }: VectorListQuery): Promise<VectorPage> {
		// Throws if the index does not exist.
		await this.#state.read();
		const { object } = this.#external.index;
		const now = this.#services.now();
		const position = cursor === undefined ? undefined : readCursor(cursor, { object, now });
		const snapshot = position?.snapshot ?? nextTime(now);
		const expiresAt = position?.expiresAt ?? now + SNAPSHOT_MS;
		const must: QdrantCondition[] = [
			{ key: "created", range: { lte: snapshot } },
			{ should: [LIVE, { key: "deleted", range: { gt: snapshot } }] },
		];
		const totalCount = await this.#count(must);
		const result = (await this.#api.call("POST", `/${this.#collection}/points/scroll`, {
			...{ filter: { must }, limit: count, with_payload: ["id"], with_vector: false },
			...(position && { offset: position.after }),
		})) as { points?: { payload?: { id?: unknown } }[]; next_page_offset?: unknown };
		const ids = (result.points ?? []).map(({ payload }) => String(payload?.id));
		const after = result.next_page_offset;
		if (typeof after !== "string") return { ids, totalCount };
		return { ids, totalCount, next: { cursor: cursorOf({ snapshot, expiresAt, object, after }), expiresAt } };
	}

	async metadataIndexes(): Promise<MetadataIndex[]> {
		const { properties } = await this.#state.read();
		return properties.all.map(({ indexType, propertyName }) => ({ propertyName, indexType }));
	}
}

/** A server's score of `Euclid` is the distance, and that of `Dot` the product. */
function scoreOf({ score = 0 }: QdrantPoint, metric: VectorMetric): number {
	if (metric === "cosine") return Math.max(-1, Math.min(1, score));
	// Not -0.
	return metric === "dot-product" ? 0 - score : score;
}

export const qdrant =
	(setting: QdrantSetting, services: StoreServices): OpenStore =>
	(external) =>
		new QdrantStore(setting, external, services);
