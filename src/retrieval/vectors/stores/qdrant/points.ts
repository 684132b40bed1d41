/** Vectors as points of a Qdrant server, which have UUIDs as ids. */
import { createHash } from "node:crypto";
import { parseRecord } from "../../../../core/json.ts";
import { indexedValue, nested } from "../../metadata.ts";
import type { NumberedProperty } from "../../properties.ts";
import type { StoredVector, VectorMetric, VectorRecord } from "../../records.ts";
import type { QdrantPoint } from "./api.ts";
import { propertyField } from "./filter.ts";
import { ORDER_PARTS, orderField, orderOf } from "./text-order.ts";

/** A server accepts 32 MiB in a request, unless its configuration has another limit. */
const WRITE_BYTES = 24_000_000;

const DISTANCES = { cosine: "Cosine", euclidean: "Euclid", "dot-product": "Dot" } as const;
/** The values as they were sent. */
export const VALUES = "values";

/** The vector that is searched: with the metric cosine, a server keeps only unit vectors. */
export const searchedVector = (metric: VectorMetric): string => (metric === "cosine" ? "unit" : VALUES);

/** https://qdrant.tech/documentation/concepts/vectors/#named-vectors */
export function vectorSettings(metric: VectorMetric, size: number): object {
	if (metric !== "cosine") return { [VALUES]: { size, distance: DISTANCES[metric] } };
	return {
		[searchedVector(metric)]: { size, distance: DISTANCES[metric] },
		// Not searched, so it has no index.
		[VALUES]: { size, distance: DISTANCES.euclidean, on_disk: true, hnsw_config: { m: 0 } },
	};
}

/** Fields of each point that filters use, and their types. */
export const FIELDS = { namespace: "keyword", created: "integer", deleted: "integer" } as const;
const TYPES = { string: "keyword", number: "float", boolean: "bool" } as const;

/** The fields of a metadata index, and their types. */
export function fieldsOf({
	indexType,
	number,
}: NumberedProperty): (readonly [field: string, type: string])[] {
	const order = indexType === "string" ? Array.from({ length: ORDER_PARTS }, (_, at) => at) : [];
	return [
		[propertyField(number), TYPES[indexType]],
		...order.map((at) => [orderField(number, at), TYPES.number] as const),
	];
}

/** The UUID of a vector: the first 16 bytes of the SHA-256 sum of its id, as version 8. */
export function pointId(id: string): string {
	const bytes = createHash("sha256").update(id).digest().subarray(0, 16);
	bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
	bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
	return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

interface NewPoint {
	record: VectorRecord;
	values: Float32Array;
	/** The time of its mutation. */
	created: number;
	metric: VectorMetric;
	properties: readonly NumberedProperty[];
}

/** JSON. */
export function pointJson({ created, metric, properties, record, values }: NewPoint): string {
	const { id, metadata, namespace } = record;
	const payload = {
		...{ id, created, deleted: 0 },
		...(namespace !== undefined && { namespace }),
		...(metadata !== undefined && { metadata }),
		...indexedFields(metadata, properties),
	};
	const numbers = `[${values.join()}]`;
	const vectors = new Set([searchedVector(metric), VALUES]);
	const vector = Array.from(vectors, (name) => `"${name}":${numbers}`).join();
	return `{"id":"${pointId(id)}","payload":${JSON.stringify(payload)},"vector":{${vector}}}`;
}

function indexedFields(metadata: string | undefined, properties: readonly NumberedProperty[]): object {
	const fields = (metadata !== undefined && properties.length > 0 && parseRecord(metadata)) || {};
	const result: Record<string, unknown> = {};
	for (const { indexType, number, propertyName } of properties) {
		const value = indexedValue(fields, propertyName, indexType);
		if (value === undefined) continue;
		result[propertyField(number)] = typeof value === "string" ? value.toWellFormed() : value;
		if (typeof value !== "string") continue;
		for (const [part, order] of orderOf(value).entries()) result[orderField(number, part)] = order;
	}
	return result;
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

export function recordOf({ payload }: QdrantPoint): VectorRecord {
	const namespace = textOf(payload.namespace);
	const metadata = textOf(payload.metadata);
	return {
		id: textOf(payload.id) ?? "",
		...(namespace !== undefined && { namespace }),
		...(metadata !== undefined && { metadata }),
	};
}

export const valuesOf = ({ vector }: QdrantPoint): Float32Array<ArrayBuffer> =>
	new Float32Array(vector?.[VALUES] ?? []);

export const storedVector = (point: QdrantPoint): StoredVector => ({
	...recordOf(point),
	values: valuesOf(point),
});

export const indexedMetadata = (
	{ payload }: QdrantPoint,
	properties: readonly NumberedProperty[],
): string | undefined =>
	nested(
		properties.flatMap(({ number, propertyName }) => {
			const value = payload[propertyField(number)];
			return value === undefined ? [] : [[propertyName, value] as const];
		}),
	);

/** The texts of points in parts, each for one request. */
export function* byBytes(texts: readonly string[]): Generator<string[]> {
	let part: string[] = [];
	let bytes = 0;
	for (const text of texts) {
		const added = Buffer.byteLength(text) + 1;
		if (bytes + added > WRITE_BYTES && part.length > 0) {
			yield part;
			part = [];
			bytes = 0;
		}
		part.push(text);
		bytes += added;
	}
	if (part.length > 0) yield part;
}
