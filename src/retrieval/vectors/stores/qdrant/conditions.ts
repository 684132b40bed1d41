/** Conditions of a Qdrant server: https://qdrant.tech/documentation/concepts/filtering. */

export type QdrantCondition =
	| { key: string; match: { value: string | number | boolean } }
	| { key: string; range: Readonly<Partial<Record<"gt" | "gte" | "lt" | "lte", number>>> }
	| { is_empty: { key: string } }
	| { has_id: readonly string[] }
	| QdrantFilter;

/** An empty list is no condition. */
export interface QdrantFilter {
	must?: readonly QdrantCondition[];
	should?: readonly QdrantCondition[];
	must_not?: readonly QdrantCondition[];
}

export const NEVER: QdrantCondition = { has_id: [] };

export const isEmpty = (key: string): QdrantCondition => ({ is_empty: { key } });
