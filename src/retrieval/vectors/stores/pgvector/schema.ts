/**
 * The tables of a store. Each index has a table of its own, because a column of vectors with an HNSW index has one width
 * (https://github.com/pgvector/pgvector#hnsw). Three further tables have the state of all indexes.
 */
import type { VectorMetric } from "../../records.ts";
import { storeFailed } from "../store-failed.ts";
import type { RunSql } from "./connection.ts";

/** Iterative scans, which filters need, are in pgvector 0.8. */
const OLDEST_VERSION = [0, 8] as const;
/** Of an HNSW index. The default, 64, finds less. */
const EF_CONSTRUCTION = 128;

/** Names of tables, quoted. */
export interface Tables {
	schema: string;
	/** A row for each index. `properties`: JSON of `NumberedProperties`. */
	indexes: string;
	/** Lists that can be continued. A row dies by a mutation after it has expired, or with the index. */
	snapshots: string;
	/** Vectors that are deleted, and that a snapshot has. A row dies with its snapshots. */
	deleted: string;
	/** The vectors of one index. `indexed`: values of metadata indexes by their numbers. `created`: the number of a mutation. */
	vectors: string;
}

export function tablesOf(schema: string, collection: string): Tables {
	const table = (name: string): string => `"${schema}"."${name}"`;
	return {
		schema: `"${schema}"`,
		indexes: table("indexes"),
		snapshots: table("snapshots"),
		deleted: table("deleted_ids"),
		vectors: table(`vectors_${collection}`),
	};
}

const OPERATORS = {
	cosine: { classOf: "vector_cosine_ops", distance: "<=>" },
	euclidean: { classOf: "vector_l2_ops", distance: "<->" },
	"dot-product": { classOf: "vector_ip_ops", distance: "<#>" },
} as const satisfies Record<VectorMetric, { classOf: string; distance: string }>;

export const distanceOperator = (metric: VectorMetric): string => OPERATORS[metric].distance;

interface NewTable {
	object: string;
	dimensions: number;
	metric: VectorMetric;
	/** The name of the store. */
	name: string;
}

/** In a transaction. May run again. */
export async function createTables(run: RunSql, tables: Tables, index: NewTable): Promise<void> {
	const { deleted, indexes, schema, snapshots, vectors } = tables;
	const { dimensions, metric, name, object } = index;
	// Two sessions that create the same table at the same time would fail.
	await run("SELECT pg_advisory_xact_lock(hashtext($1))", `ganglion ${schema}`);
	await run("CREATE EXTENSION IF NOT EXISTS vector");
	const [extension] = await run<{ version: string }>(
		"SELECT extversion AS version FROM pg_extension WHERE extname = 'vector'",
	);
	if (!isNewEnough(extension?.version ?? ""))
		throw storeFailed(name, `needs pgvector ${OLDEST_VERSION.join(".")} or newer`);
	await run(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
	await run(`CREATE TABLE IF NOT EXISTS ${indexes} (object text PRIMARY KEY, vectors bigint NOT NULL,
		mutations bigint NOT NULL, processed_at bigint, processed_mutation text, properties text NOT NULL)`);
	await run(`CREATE TABLE IF NOT EXISTS ${snapshots} (object text, mutation bigint, vectors bigint NOT NULL,
		expires_at bigint NOT NULL, PRIMARY KEY (object, mutation))`);
	await run(`CREATE TABLE IF NOT EXISTS ${deleted} (object text, id text COLLATE "C", created bigint,
		deleted bigint NOT NULL, PRIMARY KEY (object, id, created))`);
	await run(`CREATE TABLE IF NOT EXISTS ${vectors} (id text COLLATE "C" PRIMARY KEY, created bigint NOT NULL,
		namespace text, metadata text, indexed jsonb, value vector(${dimensions}) NOT NULL)`);
	// Not in a table of its own, where PostgreSQL puts values of more than 2 KB.
	await run(`ALTER TABLE ${vectors} ALTER COLUMN value SET STORAGE PLAIN`);
	await run(`CREATE INDEX ON ${vectors} USING hnsw (value ${OPERATORS[metric].classOf})
		WITH (ef_construction = ${EF_CONSTRUCTION})`);
	await run(`CREATE INDEX ON ${vectors} USING gin (indexed)`);
	await run(`CREATE INDEX ON ${vectors} (namespace) WHERE namespace IS NOT NULL`);
	await run(
		`INSERT INTO ${indexes} VALUES ($1, 0, 0, NULL, NULL, '{"all":[],"last":0}') ON CONFLICT DO NOTHING`,
		object,
	);
}

/** In a transaction. May run again. */
export async function dropTables(
	run: RunSql,
	{ deleted, indexes, snapshots, vectors }: Tables,
	object: string,
): Promise<void> {
	await run(`DROP TABLE IF EXISTS ${vectors}`);
	for (const table of [deleted, snapshots, indexes])
		await run(`DELETE FROM ${table} WHERE object = $1`, object);
}

function isNewEnough(version: string): boolean {
	const [major = 0, minor = 0] = version.split(".").map(Number);
	return major > OLDEST_VERSION[0] || minor >= OLDEST_VERSION[1];
}
