/** What the kinds of stores outside of this gateway have in common. */
import type { Connect } from "../../../outbound/driver-socket.ts";
import type { VectorBatch, VectorIndexRecord, VectorMatch, VectorMetric } from "../records.ts";
import type { VectorStore } from "../vector-store.ts";
import type { KeptConnections } from "./pgvector/kept-connections.ts";

export interface StoreServices {
	fetch: typeof fetch;
	connect: Connect;
	/** Epoch milliseconds. */
	now(): number;
	wait(milliseconds: number): Promise<void>;
}

/** An index in a store. */
export interface ExternalIndex {
	index: VectorIndexRecord;
	/** The name of the store in `VECTORS`. */
	name: string;
	/** After a mutation: vectors of the index, and about their bytes. */
	written?(size: { vectors: number; bytes: number }): void;
	/** Fires when the caller leaves. */
	signal?: AbortSignal | undefined;
	/** For queries, in the object that has the connections. */
	kept?: KeptConnections | undefined;
}

/** Opens an index of a store. What the indexes of the store share in a process is in the closure. */
export type OpenStore = (external: ExternalIndex) => VectorStore;

const UUID = /([\da-f]{8})-([\da-f]{4})-([\da-f]{4})-([\da-f]{4})-([\da-f]{12})$/;

/** The name of the index in the store: 32 hexadecimal digits. An index that is created again has another one. */
export function collectionOf({ object }: Pick<VectorIndexRecord, "object">): string {
	const digits = UUID.exec(object)?.slice(1).join("");
	if (digits === undefined) throw new Error("the object of an index has no UUID");
	return digits;
}

/** The last vector of an id replaces the others (`upsert`), or the first one stays (`insert`). The positions in the batch. */
export function distinct({ records }: VectorBatch, operation: "insert" | "upsert"): number[] {
	const positions = new Map<string, number>();
	for (const [position, { id }] of records.entries())
		if (operation === "upsert" || !positions.has(id)) positions.set(id, position);
	return [...positions.values()];
}

/** Equal scores are in the order of the ids. */
export const betterFirst =
	(metric: VectorMetric) =>
	(a: VectorMatch, b: VectorMatch): number =>
		(metric === "cosine" ? b.score - a.score : a.score - b.score) || (a.id < b.id ? -1 : 1);
