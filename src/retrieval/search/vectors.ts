/** The vectors of an instance: an index of the account for each version of the instance's configuration. */
import { BoundedMap } from "../../core/bounded-map.ts";
import { toAiError } from "../../core/errors.ts";
import type { Mutation, VectorBatch } from "../vectors/records.ts";
import type { VectorServices } from "../vectors/services.ts";
import type { VectorStore } from "../vectors/vector-store.ts";
import { metadataIndexes } from "./metadata.ts";
import {
	chunkId,
	type IndexedMetadata,
	type InstanceRecord,
	type VectorPlan,
	vectorIndexOf,
} from "./records.ts";

/** Of one deletion. */
const DELETED_IDS = 100;

/** The names of indexes that have all their metadata indexes. */
const COMPLETE = new BoundedMap<string, true>(1_000);

/** `undefined`: the index does not exist. */
export async function openVectors(
	account: string,
	record: InstanceRecord,
	version: number,
	{ vectorIndexes }: VectorServices,
): Promise<VectorStore | undefined> {
	try {
		return (await vectorIndexes.open(account, vectorIndexOf(record, version))).store;
	} catch (thrown) {
		if (toAiError(thrown).key === "vectorIndexNotFound") return undefined;
		throw thrown;
	}
}

/** The index with its metadata indexes. It is created if it does not exist. */
export async function requireVectors(
	account: string,
	record: InstanceRecord,
	dimensions: number,
	services: VectorServices,
): Promise<VectorStore> {
	const version = record.indexVersion;
	const name = vectorIndexOf(record, version);
	let store = await openVectors(account, record, version, services);
	if (store && COMPLETE.has(name)) return store;
	if (!store) {
		const { id, namespace } = record;
		await services.vectorIndexes
			.create(account, {
				...{ name, dimensions, metric: "cosine", delayMs: 0 },
				description: `AI Search: ${namespace}/${id}`,
			})
			.catch((thrown: unknown) => {
				if (toAiError(thrown).key !== "vectorIndexExists") throw thrown;
			});
		({ store } = await services.vectorIndexes.open(account, name));
	}
	const known = new Set((await store.metadataIndexes()).map(({ propertyName }) => propertyName));
	for (const index of metadataIndexes(record.config.custom_metadata))
		if (!known.has(index.propertyName))
			await store.write({ id: crypto.randomUUID(), operation: "create-metadata-index", index });
	COMPLETE.set(name, true);
	return store;
}

/** `first`: the number of the first chunk of these vectors. */
export function vectorBatch(
	{ item, revision }: Pick<VectorPlan, "item" | "revision">,
	{ first, indexed, vectors }: { first: number; indexed: IndexedMetadata; vectors: readonly Float32Array[] },
): VectorBatch {
	const metadata = JSON.stringify(indexed);
	const width = vectors[0]?.length ?? 0;
	const values = new Float32Array(vectors.length * width);
	for (const [index, vector] of vectors.entries()) values.set(vector, index * width);
	return {
		records: vectors.map((_, index) => ({ id: chunkId(item, revision, first + index), metadata })),
		values,
	};
}

export const upsertOf = (batch: VectorBatch): Mutation => ({
	id: crypto.randomUUID(),
	operation: "upsert",
	batches: [batch],
});

/** Deletes the vectors of a plan. Those of an earlier version of the configuration are deleted with their index. */
export async function deletePlanned(
	account: string,
	record: InstanceRecord,
	{ chunks, indexVersion, item, revision }: VectorPlan,
	services: VectorServices,
): Promise<void> {
	if (indexVersion !== record.indexVersion) return deleteVectors(account, record, indexVersion, services);
	const store = await openVectors(account, record, indexVersion, services);
	const ids = Array.from({ length: chunks }, (_, seq) => chunkId(item, revision, seq));
	for (let at = 0; store && at < ids.length; at += DELETED_IDS)
		await store.write({ id: crypto.randomUUID(), operation: "delete", ids: ids.slice(at, at + DELETED_IDS) });
}

/** Deletes the index of a version, if it exists. */
export async function deleteVectors(
	account: string,
	record: Pick<InstanceRecord, "object">,
	version: number,
	{ vectorIndexes }: VectorServices,
): Promise<void> {
	await vectorIndexes.delete(account, vectorIndexOf(record, version)).catch((thrown: unknown) => {
		if (toAiError(thrown).key !== "vectorIndexNotFound") throw thrown;
	});
}
