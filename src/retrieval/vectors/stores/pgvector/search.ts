/** Queries as SQL. All values are parameters. */
import { nested } from "../../metadata.ts";
import { type NumberedProperty, selectedConditions } from "../../properties.ts";
import type { VectorMatch, VectorMetric, VectorQuery } from "../../records.ts";
import { betterFirst } from "../external-store.ts";
import type { RunSql } from "./connection.ts";
import { Parameters, whereSql } from "./filter-sql.ts";
import { distanceOperator, type Tables } from "./schema.ts";
import { decoded } from "./text.ts";

/** PostgreSQL compares so many vectors in about the time of a search in a large HNSW index. */
export const EXACT_VECTORS = 5_000;
/** Candidates for each result, at least. */
const CANDIDATES_PER_RESULT = 2;
/** With a filter, a search meets so many times as many that are not results. */
const FILTERED = 4;
const MAX_CANDIDATES = 1_000;

/** What is searched. */
interface SearchedIndex {
	tables: Tables;
	metric: VectorMetric;
	vectors: number;
	properties: readonly NumberedProperty[];
	/** Candidates of a search in the HNSW index, at least. */
	efSearch: number;
}

interface VectorRow {
	id: string;
	namespace: string | null;
	metadata: string | null;
	indexed: string | null;
	value: string | null;
	distance: number;
}

/** Throws 40022 if a property of the filter has no metadata index. */
export async function search(
	run: RunSql,
	query: VectorQuery & { vector: Float32Array },
	{ efSearch, metric, properties, tables, vectors }: SearchedIndex,
): Promise<VectorMatch[]> {
	const { returnMetadata, returnValues, topK } = query;
	const conditions = selectedConditions(query.filter, properties);
	const parameters = new Parameters();
	const where = whereSql(query, conditions, parameters);
	const isExact =
		vectors <= EXACT_VECTORS || (where !== "true" && (await isSmall(run, tables, where, parameters)));
	const searched = parameters.add(`[${query.vector.join()}]`);
	const distance = `value ${distanceOperator(metric)} ${searched}::vector`;
	// The distance of a vector of zeros is NaN. The HNSW index does not sort by an expression, so this is also the way to an exact search.
	const compared = `coalesce(nullif(${distance}, 'NaN'), 1)`;
	const text = `SELECT id, namespace, ${returnMetadata === "all" ? "metadata" : "NULL AS metadata"},
		${returnMetadata === "indexed" ? "indexed::text" : "NULL AS indexed"},
		${returnValues ? "value::text" : "NULL AS value"}, ${compared} AS distance
		FROM ${tables.vectors} WHERE ${where} ORDER BY ${isExact ? `${compared}, id` : distance} LIMIT ${topK}`;
	const find = () => run<VectorRow>(text, ...parameters.values);
	const candidates = Math.max(efSearch, CANDIDATES_PER_RESULT * topK) * (where === "true" ? 1 : FILTERED);
	const rows = isExact ? await find() : await inHnswIndex(run, candidates, find);
	return rows.map((row) => matchOf(row, metric, query, properties)).sort(betterFirst(metric));
}

/** Whether few vectors match. */
async function isSmall(
	run: RunSql,
	{ vectors }: Tables,
	where: string,
	{ values }: Parameters,
): Promise<boolean> {
	const [row] = await run<{ found: number }>(
		`SELECT count(*)::float8 AS found
		FROM (SELECT FROM ${vectors} WHERE ${where} LIMIT ${EXACT_VECTORS + 1}) AS candidates`,
		...values,
	);
	return (row?.found ?? 0) <= EXACT_VECTORS;
}

/** The settings end with the transaction. No statement waits for the answer of the one before it. */
async function inHnswIndex<Row>(run: RunSql, candidates: number, find: () => Promise<Row[]>): Promise<Row[]> {
	const [, rows] = await Promise.all([
		run(
			`BEGIN; SET LOCAL hnsw.ef_search = ${Math.min(candidates, MAX_CANDIDATES)}; SET LOCAL hnsw.iterative_scan = strict_order`,
		),
		find(),
		run("COMMIT"),
	]);
	return rows;
}

function matchOf(
	{ distance, id, indexed, metadata, namespace, value }: VectorRow,
	metric: VectorMetric,
	{ returnMetadata }: VectorQuery,
	properties: readonly NumberedProperty[],
): VectorMatch {
	const shown = returnMetadata === "indexed" ? indexedMetadata(indexed, properties) : metadata;
	return {
		// Not -0.
		...{ id: decoded(id), score: metric === "cosine" ? cosineOf(distance) : distance + 0 },
		...(namespace !== null && { namespace: decoded(namespace) }),
		...(shown != null && { metadata: shown }),
		...(value !== null && { values: valuesOf(value) }),
	};
}

const cosineOf = (distance: number): number => Math.max(-1, Math.min(1, 1 - distance));

function indexedMetadata(json: string | null, properties: readonly NumberedProperty[]): string | undefined {
	const values: Record<string, unknown> = json === null ? {} : JSON.parse(json);
	return nested(
		properties.flatMap(({ number, propertyName }) => {
			const value = values[number];
			if (value === undefined) return [];
			return [[propertyName, typeof value === "string" ? decoded(value) : value] as const];
		}),
	);
}

/** Of PostgreSQL's text of a vector. */
export const valuesOf = (text: string): Float32Array<ArrayBuffer> => new Float32Array(JSON.parse(text));
