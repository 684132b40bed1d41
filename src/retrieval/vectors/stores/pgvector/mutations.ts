/** Mutations as SQL. All values are parameters. */
import { parseRecord } from "../../../../core/json.ts";
import { indexedValue } from "../../metadata.ts";
import type { NumberedProperty } from "../../properties.ts";
import type { Mutation, VectorBatch } from "../../records.ts";
import { distinct } from "../external-store.ts";
import type { RunSql } from "./connection.ts";
import type { Tables } from "./schema.ts";
import { encoded } from "./text.ts";

/** What a mutation is applied to. */
interface Application {
	tables: Tables;
	object: string;
	dimensions: number;
	/** The number of the mutation. */
	number: number;
	/** The metadata indexes that are older than the mutation. */
	properties: readonly NumberedProperty[];
	/** Epoch milliseconds. */
	now: number;
}

/** Returns the number of vectors that are added. */
export async function applyMutation(run: RunSql, mutation: Mutation, to: Application): Promise<number> {
	if ("ids" in mutation) return -(await remove(run, mutation.ids, to));
	if (!("batches" in mutation)) return 0;
	let added = 0;
	for (const batch of mutation.batches) added += await put(run, mutation.operation, batch, to);
	return added;
}

const CONFLICTS = {
	insert: "NOTHING",
	upsert:
		"UPDATE SET namespace = excluded.namespace, metadata = excluded.metadata, indexed = excluded.indexed, value = excluded.value",
} as const;

async function put(
	run: RunSql,
	operation: "insert" | "upsert",
	batch: VectorBatch,
	{ dimensions, number, properties, tables }: Application,
): Promise<number> {
	const rows = distinct(batch, operation).map((position) => {
		const { id, metadata, namespace } = batch.records[position] ?? { id: "" };
		const values = batch.values.subarray(position * dimensions, (position + 1) * dimensions);
		return {
			...{ i: encoded(id), m: metadata, v: `[${values.join()}]`, x: indexedValues(metadata, properties) },
			...(namespace !== undefined && { n: encoded(namespace) }),
		};
	});
	// xmax is 0 in a row that is new.
	const [result] = await run<{ added: number }>(
		`WITH written AS (
			INSERT INTO ${tables.vectors} AS stored (id, created, namespace, metadata, indexed, value)
			SELECT i, $2::text::bigint, n, m, x, v::vector
			FROM json_to_recordset($1::text::json) AS sent (i text, n text, m text, x jsonb, v text)
			ON CONFLICT (id) DO ${CONFLICTS[operation]} RETURNING stored.xmax
		) SELECT count(*)::float8 AS added FROM written WHERE xmax = 0`,
		JSON.stringify(rows),
		String(number),
	);
	return result?.added ?? 0;
}

/** By the numbers of the metadata indexes. */
function indexedValues(metadata: string | undefined, properties: readonly NumberedProperty[]): object {
	const fields = (metadata !== undefined && properties.length > 0 && parseRecord(metadata)) || {};
	return Object.fromEntries(
		properties.flatMap(({ indexType, number, propertyName }) => {
			const value = indexedValue(fields, propertyName, indexType);
			if (value === undefined) return [];
			return [[number, typeof value === "string" ? encoded(value) : value]];
		}),
	);
}

/** Snapshots keep the ids. */
async function remove(
	run: RunSql,
	ids: readonly string[],
	{ now, number, object, tables: { deleted, snapshots, vectors } }: Application,
): Promise<number> {
	await run(
		`DELETE FROM ${snapshots} WHERE object = $1 AND expires_at <= $2::text::bigint`,
		object,
		String(now),
	);
	await run(
		`DELETE FROM ${deleted} WHERE object = $1 AND deleted <= coalesce(
			(SELECT min(mutation) FROM ${snapshots} WHERE object = $1), deleted)`,
		object,
	);
	const [result] = await run<{ removed: number }>(
		`WITH removed AS (
			DELETE FROM ${vectors} WHERE id IN (SELECT json_array_elements_text($1::text::json)) RETURNING id, created
		), kept AS (
			INSERT INTO ${deleted} SELECT $2, id, created, $3::text::bigint FROM removed
			WHERE EXISTS (SELECT FROM ${snapshots} WHERE object = $2)
		) SELECT count(*)::float8 AS removed FROM removed`,
		...[JSON.stringify(ids.map(encoded)), object, String(number)],
	);
	return result?.removed ?? 0;
}
