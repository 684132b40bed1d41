/** The Durable Objects of the vector indexes, as an isolate calls them. */
import type { VectorRegistryObject } from "../durable/registry.ts";
import type { VectorIndexObject } from "../durable/vector-index.ts";
import type { IndexCalls } from "./builtin-store.ts";

/** The methods of the registry as calls. */
export type VectorRegistryCalls = {
	[Name in
		| "begin"
		| "changeMove"
		| "changed"
		| "copied"
		| "countQueries"
		| "create"
		| "days"
		| "delete"
		| "end"
		| "endMove"
		| "get"
		| "leaveQuery"
		| "list"
		| "move"
		| "pauseMutations"
		| "pending"
		| "queryStore"
		| "renew"
		| "report"
		| "startMove"
		| "switchStore"
		| "usage"]: (
		...parameters: Parameters<VectorRegistryObject[Name]>
	) => Promise<Awaited<ReturnType<VectorRegistryObject[Name]>>>;
};

/** A stub belongs to the request that created it, so each call needs a new one. */
export interface VectorObjects {
	registry(account: string): VectorRegistryCalls;
	index(object: string): IndexCalls;
}

export interface VectorRoomBindings {
	VECTOR_INDEX: DurableObjectNamespace<VectorIndexObject>;
	VECTOR_REGISTRY: DurableObjectNamespace<VectorRegistryObject>;
}

export const vectorObjects = ({ VECTOR_INDEX, VECTOR_REGISTRY }: VectorRoomBindings): VectorObjects => ({
	// The runtime's types of results are too deep for the compiler.
	registry: (account) => VECTOR_REGISTRY.getByName(account) as unknown as VectorRegistryCalls,
	index: (object) => VECTOR_INDEX.getByName(object) as unknown as IndexCalls,
});
