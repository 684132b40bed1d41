/**
 * The contract of a store of vectors. Each kind passes `test/retrieval/vectors/contract.ts`. A store keeps one index for each object of this
 * type. Callers have validated all arguments; a store refuses only what depends on its state.
 */
import type {
	MetadataIndex,
	Mutation,
	StoredVector,
	VectorIndexInfo,
	VectorListQuery,
	VectorMatch,
	VectorPage,
	VectorQuery,
} from "./records.ts";

export interface VectorStore {
	/** Before the first mutation. May be called again. */
	create(): Promise<void>;
	/** Deletes the index with its vectors. May be called again. */
	drop(): Promise<void>;
	info(): Promise<VectorIndexInfo>;
	/** Resolves when the mutation is durable. It may become visible later. Returns the id by which `info` is going to show it. */
	write(mutation: Mutation): Promise<string>;
	/** Throws 40022 if a property of the filter has no metadata index. An unknown id of a vector: no match. */
	query(query: VectorQuery): Promise<VectorMatch[]>;
	/** Those that exist, in the order of the ids. */
	get(ids: readonly string[]): Promise<StoredVector[]>;
	/** In an order of the store. Throws 40027 if the cursor is not valid any more. */
	list(query: VectorListQuery): Promise<VectorPage>;
	metadataIndexes(): Promise<MetadataIndex[]>;
}
