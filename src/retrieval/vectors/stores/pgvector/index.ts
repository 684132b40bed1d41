/**
 * The kind `pgvector`: PostgreSQL with the extension pgvector. A mutation is one transaction, and visible when it ends.
 *
 * A query of at most `EXACT_VECTORS` candidates, after the namespace and the filter, is exact. One of more candidates is approximate, by the
 * HNSW index. Vectors of zeros are not in the index of the metric cosine.
 */
import { DATABASE_CALL } from "../../../../outbound/limits.ts";
import { cursorOf, readCursor, SNAPSHOT_MS } from "../../cursor.ts";
import { cursorInvalid, indexNotFound, tooManyMetadataIndexes } from "../../failures.ts";
import { changedProperties, type NumberedProperties } from "../../properties.ts";
import type {
	MetadataIndex,
	Mutation,
	StoredVector,
	VectorIndexInfo,
	VectorListQuery,
	VectorMatch,
	VectorPage,
	VectorQuery,
} from "../../records.ts";
import type { VectorStore } from "../../vector-store.ts";
import { collectionOf, type ExternalIndex, type OpenStore, type StoreServices } from "../external-store.ts";
import type { PgvectorSetting } from "../store-settings.ts";
import type { RunSql } from "./connection.ts";
import { SqlConnections } from "./database.ts";
import { applyMutation } from "./mutations.ts";
import { createTables, dropTables, type Tables, tablesOf } from "./schema.ts";
import { search, valuesOf } from "./search.ts";
import { decoded, encoded } from "./text.ts";

/** A row of the table `indexes`. */
interface State {
	vectors: number;
	mutations: number;
	processed_at: number | null;
	processed_mutation: string | null;
	properties: NumberedProperties;
}

class PgvectorStore implements VectorStore {
	readonly #connections: SqlConnections;
	readonly #external: ExternalIndex;
	readonly #services: StoreServices;
	readonly #tables: Tables;
	readonly #object: string;

	constructor(connections: SqlConnections, external: ExternalIndex, services: StoreServices) {
		this.#connections = connections;
		this.#external = external;
		this.#services = services;
		this.#object = external.index.object;
		this.#tables = tablesOf(connections.schema, collectionOf(external.index));
	}

	/** In a connection of its own. */
	#session<Value>(
		work: (run: RunSql) => Promise<Value>,
		totalMs: number = DATABASE_CALL.readMs,
	): Promise<Value> {
		const { kept: _, ...external } = this.#external;
		return this.#connections.session(work, external, { ...this.#services, totalMs });
	}

	/** A failure ends the connection, and so the transaction. */
	#transaction<Value>(work: (run: RunSql) => Promise<Value>): Promise<Value> {
		return this.#session(async (run) => {
			await run("BEGIN");
			const value = await work(run);
			await run("COMMIT");
			return value;
		}, DATABASE_CALL.totalMs);
	}

	create(): Promise<void> {
		const { index, name } = this.#external;
		return this.#transaction((run) => createTables(run, this.#tables, { ...index, name }));
	}

	drop(): Promise<void> {
		return this.#transaction((run) => dropTables(run, this.#tables, this.#object));
	}

	/** The mutations of an index wait for each other, and for the first page of a list. */
	async #state(run: RunSql, lock: "" | "FOR SHARE" | "FOR UPDATE" = ""): Promise<State> {
		const [row] = await run<Omit<State, "properties"> & { properties: string }>(
			`SELECT vectors::float8, mutations::float8, processed_at::float8, processed_mutation, properties
			FROM ${this.#tables.indexes} WHERE object = $1 ${lock}`,
			this.#object,
		);
		if (!row) throw indexNotFound(this.#external.index.name);
		return { ...row, properties: JSON.parse(row.properties) };
	}

	info(): Promise<VectorIndexInfo> {
		return this.#session(async (run) => {
			const { processed_at, processed_mutation, vectors } = await this.#state(run);
			return {
				vectorCount: vectors,
				...(processed_at !== null && { processedAt: processed_at }),
				...(processed_mutation !== null && { processedMutation: processed_mutation }),
			};
		});
	}

	async write(mutation: Mutation): Promise<string> {
		const { index, written } = this.#external;
		const now = this.#services.now();
		const size = await this.#transaction(async (run) => {
			const { mutations, properties, ...state } = await this.#state(run, "FOR UPDATE");
			const number = mutations + 1;
			const next = changed(mutation, properties);
			const added = await applyMutation(run, mutation, {
				...{ tables: this.#tables, object: this.#object, dimensions: index.dimensions },
				...{ number, properties: properties.all, now },
			});
			const vectors = state.vectors + added;
			await run(
				`UPDATE ${this.#tables.indexes} SET vectors = $2, mutations = $3, processed_at = $4, processed_mutation = $5,
				properties = $6 WHERE object = $1`,
				...[this.#object, vectors, number, now, mutation.id, JSON.stringify(next)],
			);
			const [table] = await run<{ bytes: number }>(
				"SELECT pg_total_relation_size($1::text::regclass)::float8 AS bytes",
				this.#tables.vectors,
			);
			return { vectors, bytes: table?.bytes ?? 0 };
		});
		written?.(size);
		return mutation.id;
	}

	query(query: VectorQuery): Promise<VectorMatch[]> {
		const work = async (run: RunSql) => {
			const { properties, vectors } = await this.#state(run);
			const id = typeof query.vector === "string" ? query.vector : undefined;
			const vector = id === undefined ? query.vector : (await this.#read(run, [id]))[0]?.values;
			if (vector === undefined || typeof vector === "string") return [];
			const { metric } = this.#external.index;
			const { efSearch } = this.#connections;
			const index = { tables: this.#tables, metric, vectors, properties: properties.all, efSearch };
			return search(run, { ...query, vector }, index);
		};
		const services = { ...this.#services, totalMs: DATABASE_CALL.readMs };
		return this.#connections.session(work, this.#external, services);
	}

	get(ids: readonly string[]): Promise<StoredVector[]> {
		return this.#session((run) => this.#read(run, ids));
	}

	async #read(run: RunSql, ids: readonly string[]): Promise<StoredVector[]> {
		const rows = await run<{ id: string; namespace: string | null; metadata: string | null; value: string }>(
			`SELECT id, namespace, metadata, value::text FROM ${this.#tables.vectors}
			WHERE id IN (SELECT json_array_elements_text($1::text::json))`,
			JSON.stringify(ids.map(encoded)),
		);
		const found = new Map(rows.map((row) => [decoded(row.id), row]));
		return ids.flatMap((id): StoredVector[] => {
			const row = found.get(id);
			if (!row) return [];
			const { metadata, namespace, value } = row;
			return [
				{
					...{ id, values: valuesOf(value) },
					...(namespace !== null && { namespace: decoded(namespace) }),
					...(metadata !== null && { metadata }),
				},
			];
		});
	}

	list({ count, cursor }: VectorListQuery): Promise<VectorPage> {
		const { deleted, snapshots, vectors } = this.#tables;
		return this.#transaction(async (run) => {
			const { mutations, vectors: current } = await this.#state(run, "FOR SHARE");
			const now = this.#services.now();
			const object = this.#object;
			const position =
				cursor === undefined
					? { snapshot: mutations, after: "", expiresAt: now + SNAPSHOT_MS }
					: readCursor(cursor, { object, now });
			const { expiresAt } = position;
			const snapshot = String(position.snapshot);
			const totalCount = cursor === undefined ? current : await this.#snapshotVectors(run, snapshot);
			const rows = await run<{ id: string }>(
				`SELECT id FROM (
					SELECT id FROM ${vectors} WHERE created <= $2::text::bigint UNION ALL
					SELECT id FROM ${deleted} WHERE object = $1 AND created <= $2::text::bigint AND deleted > $2::text::bigint
				) AS listed WHERE id > $3 ORDER BY id LIMIT ${count + 1}`,
				...[object, snapshot, encoded(position.after)],
			);
			const ids = rows.slice(0, count).map(({ id }) => decoded(id));
			if (rows.length <= count) return { ids, totalCount };
			// An index that does not change has one snapshot, which each list that begins makes last longer.
			if (cursor === undefined)
				await run(
					`INSERT INTO ${snapshots} AS kept VALUES ($1, $2::text::bigint, $3::text::bigint, $4::text::bigint)
					ON CONFLICT (object, mutation) DO UPDATE SET vectors = excluded.vectors,
					expires_at = greatest(kept.expires_at, excluded.expires_at)`,
					...[object, snapshot, String(totalCount), String(expiresAt)],
				);
			const after = ids.at(-1) ?? "";
			const next = { cursor: cursorOf({ ...position, object, after }), expiresAt };
			return { ids, totalCount, next };
		});
	}

	/** Throws 40027 if the snapshot has expired. */
	async #snapshotVectors(run: RunSql, snapshot: string): Promise<number> {
		const [row] = await run<{ vectors: number }>(
			`SELECT vectors::float8 FROM ${this.#tables.snapshots}
			WHERE object = $1 AND mutation = $2::text::bigint AND expires_at > $3::text::bigint`,
			...[this.#object, snapshot, String(this.#services.now())],
		);
		if (!row) throw cursorInvalid();
		return row.vectors;
	}

	async metadataIndexes(): Promise<MetadataIndex[]> {
		const { properties } = await this.#session((run) => this.#state(run));
		return properties.all.map(({ indexType, propertyName }) => ({ propertyName, indexType }));
	}
}

/** Throws 40028 if there would be too many. */
function changed(mutation: Mutation, properties: NumberedProperties): NumberedProperties {
	if (!("index" in mutation)) return properties;
	const next = changedProperties(mutation.operation, mutation.index, properties);
	if (!next) throw tooManyMetadataIndexes();
	return next;
}

export function pgvector(setting: PgvectorSetting, services: StoreServices): OpenStore {
	const connections = new SqlConnections(setting);
	return (external) => new PgvectorStore(connections, external, services);
}
