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
/** A third of the time after which a mutation that is not renewed counts as ended. */
const RENEW_MS = 5_000;

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
			case "write": {
				const { number } = start;
				const writing = storeOf(index).write(mutation);
				const isKnown = number === undefined || (await isInMove(writing, number, services));
				const id = await writing;
				if (isKnown) return id;
				// Its bytes are counted.
				announced.bytes = 0;
				waits++;
				break;
			}
			default:
				return start satisfies never;
		}
	}
	throw new AiError("vectorsUnavailable", "The index is being moved to another store: repeat the write");
}

/**
 * Reports a mutation during a move while it is written, and its end, also if it fails. Resolves to `false` if the move may lack it, because a
 * report came too late: it must be written again, to the store that the index is in by then.
 */
async function isInMove(
	writing: Promise<unknown>,
	number: number,
	{ call, wait }: Pick<WriteServices, "call" | "wait">,
): Promise<boolean> {
	const ended = writing.then(
		() => true,
		() => true,
	);
	const renewal = () => wait(RENEW_MS).then(() => false);
	for (;;) {
		if (await Promise.race([ended, renewal()])) return call((registry) => registry.end(number));
		// The end shows whether the registry knows the mutation.
		await call((registry) => registry.renew(number)).catch(() => {});
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
