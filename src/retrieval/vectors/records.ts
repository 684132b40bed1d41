/** The data of vector indexes, as it crosses RPC. */

export const VECTOR_METRICS = ["cosine", "euclidean", "dot-product"] as const;
export type VectorMetric = (typeof VECTOR_METRICS)[number];

export const METADATA_TYPES = ["string", "number", "boolean"] as const;
export type MetadataType = (typeof METADATA_TYPES)[number];

export interface MetadataIndex {
	propertyName: string;
	indexType: MetadataType;
}

/** The shape of an index, which does not change. */
export interface VectorShape {
	dimensions: number;
	metric: VectorMetric;
}

/** An index of an account. Times: epoch milliseconds. */
export interface VectorIndexRecord extends VectorShape {
	name: string;
	description?: string;
	/** The name of its store in `VECTORS`, or `builtin`. */
	store: string;
	/** The name of its object, or of its collection in a store. An index that is created again has another one. */
	object: string;
	createdAt: number;
	modifiedAt: number;
	/** Milliseconds until a mutation is visible. */
	delayMs: number;
}

/** A vector without its values. `metadata`: compact JSON of an object. */
export interface VectorRecord {
	id: string;
	namespace?: string;
	metadata?: string;
}

/** Vectors with their values one after another. */
export interface VectorBatch {
	records: readonly VectorRecord[];
	/** `records.length * dimensions` numbers. */
	values: Float32Array<ArrayBuffer>;
}

export interface StoredVector extends VectorRecord {
	values: Float32Array<ArrayBuffer>;
}

/** A mutation is written whole, or not at all. */
export type Mutation = { id: string } & (
	| { operation: "insert" | "upsert"; batches: readonly VectorBatch[] }
	| { operation: "delete"; ids: readonly string[] }
	| { operation: "create-metadata-index" | "delete-metadata-index"; index: MetadataIndex }
);

export type MutationKind = Mutation["operation"];

export const FILTER_OPERATORS = ["$eq", "$ne", "$in", "$nin", "$lt", "$lte", "$gt", "$gte"] as const;
export type FilterOperator = (typeof FILTER_OPERATORS)[number];
/** Strings are truncated to the bytes that are indexed. */
export type FilterValue = string | number | boolean | null;

/** One condition. A vector matches a filter if it matches all its conditions. `property`: a path with dots. */
export type FilterCondition = { property: string } & (
	| { operator: "$in" | "$nin"; values: readonly FilterValue[] }
	| { operator: Exclude<FilterOperator, "$in" | "$nin">; value: FilterValue }
);

export type ReturnedMetadata = "none" | "indexed" | "all";

export interface VectorQuery {
	/** The vector, or the id of a stored one. */
	vector: Float32Array<ArrayBuffer> | string;
	topK: number;
	namespace?: string;
	filter: readonly FilterCondition[];
	returnValues: boolean;
	returnMetadata: ReturnedMetadata;
}

/** The best match is the first. */
export interface VectorMatch extends VectorRecord {
	score: number;
	values?: Float32Array<ArrayBuffer>;
}

export interface VectorIndexInfo {
	vectorCount: number;
	/** Of the last mutation that is visible. `undefined`: there was none. */
	processedAt?: number;
	processedMutation?: string;
}

export interface VectorPage {
	ids: readonly string[];
	/** Vectors of the snapshot. */
	totalCount: number;
	next?: { cursor: string; expiresAt: number };
}

export interface VectorListQuery {
	count: number;
	cursor?: string;
}
