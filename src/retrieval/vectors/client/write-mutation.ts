/** A mutation, which the registry of the account admits: it has the bytes of all indexes, and the store of each at every moment. */
import { AiError } from "../../../core/errors.ts";
import { requireDiskSpace } from "../../../core/object-failure.ts";
import { indexNotFound, storeFull } from "../failures.ts";
import type { Mutation, VectorIndexRecord } from "../records.ts";
import type { VectorStore } from "../vector-store.ts";
import { bytesOfBatch } from "./builtin-store.ts";
import type { VectorRegistryCalls } from "./vector-objects.ts";

/** Of a mutation without vectors. */
const MUTATION_BYTES = 1_000;
/** While the last changes of a move are copied, a mutation waits: 30 seconds. */
const MOVE_WAIT_MS = 100;
const MAX_MOVE_WAITS = 300;

interface WriteServices {
	/** Of all indexes of the account. */
	maxBytes: number;
	wait(milliseconds: number): Promise<void>;
	call<Value>(method: (registry: VectorRegistryCalls) => Promise<Value>): Promise<Value>;
	storeOf(index: VectorIndexRecord): VectorStore;
	/** The index is in another store than was known. */
	moved(): void;
}

/** Throws 3000, 3006 (413) if the account has no room, and 502 if the index moves and its last changes take too long. */
export async function writeMutation(
	mutation: Mutation,
	known: VectorIndexRecord,
	services: WriteServices,
): Promise<string> {
	const { call, maxBytes, moved, storeOf, wait } = services;
	const bytes = bytesOf(mutation);
	if (bytes > 0) requireDiskSpace("vectors");
	const announced = { bytes, maxBytes, ids: idsOf(mutation) };
	let index = known;
	for (let waits = 0; waits < MAX_MOVE_WAITS; ) {
		const { name, object } = index;
		const start = await call((registry) => registry.begin(name, { ...announced, object }));
		switch (start.outcome) {
			case "gone":
				throw indexNotFound(name);
			case "full":
				throw storeFull(maxBytes);
			case "moved":
				index = start.record;
				moved();
				break;
			case "wait":
				waits++;
				await wait(MOVE_WAIT_MS);
				break;
			case "write":
				return written(mutation, storeOf(index), start.number, call);
			default:
				return start satisfies never;
		}
	}
	throw new AiError("vectorsUnavailable", "The index is being moved to another store: repeat the write");
}

/** `number`: of a mutation during a move, whose end the registry must know. */
async function written(
	mutation: Mutation,
	store: VectorStore,
	number: number | undefined,
	call: WriteServices["call"],
): Promise<string> {
	try {
		return await store.write(mutation);
	} finally {
		if (number !== undefined) await call((registry) => registry.end(number));
	}
}

/** About the bytes that the mutation adds on the disk. */
function bytesOf(mutation: Mutation): number {
	if (mutation.operation === "delete") return 0;
	return "batches" in mutation
		? mutation.batches.reduce((sum, batch) => sum + bytesOfBatch(batch), 0)
		: MUTATION_BYTES;
}

/** Of the vectors that the mutation changes. */
function idsOf(mutation: Mutation): readonly string[] {
	if ("ids" in mutation) return mutation.ids;
	if (!("batches" in mutation)) return [];
	return mutation.batches.flatMap(({ records }) => records.map(({ id }) => id));
}
