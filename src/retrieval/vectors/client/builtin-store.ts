/** The kind `builtin`: an exact scan in Durable Objects. A part of a mutation is at most one call of the runtime, which takes 32 MiB. */
import { callStorage } from "../../../core/object-failure.ts";
import { type IndexAnswer, valueIn } from "../durable/index-answer.ts";
import type { MutationDetail, MutationPart } from "../durable/journal.ts";
import type { IndexSize } from "../durable/registry.ts";
import type { ShardCalls } from "../durable/shard.ts";
import type { VectorIndexObject } from "../durable/vector-index.ts";
import type { Mutation, VectorBatch, VectorIndexRecord } from "../records.ts";
import type { VectorStore } from "../vector-store.ts";

/** Of the values and the records of one call. */
const CALL_BYTES = 8_000_000;

/** The methods of an object as calls. */
export type IndexCalls = Pick<
	VectorIndexObject,
	keyof ShardCalls | "drop" | "get" | "info" | "list" | "metadataIndexes" | "query" | "write"
> & { create(...parameters: Parameters<VectorIndexObject["create"]>): Promise<void> };

interface BuiltinServices {
	account: string;
	index: VectorIndexRecord;
	/** A stub belongs to the request that created it, so each call needs a new one. */
	object(): IndexCalls;
	/** After a mutation. */
	written?(size: IndexSize): void;
}

export function builtinStore({ account, index, object, written }: BuiltinServices): VectorStore {
	const { dimensions, metric, delayMs } = index;
	async function call<Value>(method: (calls: IndexCalls) => Promise<IndexAnswer<Value>>): Promise<Value> {
		return valueIn(await called(() => method(object())), index.name);
	}
	return {
		create: () =>
			called(() => object().create({ account, dimensions, metric, delayMs, object: index.object })),
		drop: () => called(() => object().drop()),
		info: () => call((calls) => calls.info()),
		async write(mutation) {
			let size: IndexSize | undefined;
			for (const part of partsOf(mutation)) size = await call((calls) => calls.write(part));
			if (size) written?.(size);
			return mutation.id;
		},
		query: (query) => call((calls) => calls.query(query)),
		get: (ids) => call((calls) => calls.get(ids)),
		list: (query) => call((calls) => calls.list(query)),
		metadataIndexes: () => call((calls) => calls.metadataIndexes()),
	};
}

const called = <Value>(method: () => Promise<Value>): Promise<Value> =>
	callStorage(method, "vectorsUnavailable");

function* partsOf(mutation: Mutation): Generator<MutationPart> {
	const { id, operation } = mutation;
	if (!("batches" in mutation)) {
		const detail: MutationDetail = "ids" in mutation ? { ids: mutation.ids } : { index: mutation.index };
		yield { id, operation, detail, batches: [], isLast: true };
		return;
	}
	const common = { id, operation, detail: {} };
	let batches: VectorBatch[] = [];
	let bytes = 0;
	for (const batch of mutation.batches) {
		const added = bytesOfBatch(batch);
		if (bytes + added > CALL_BYTES && batches.length > 0) {
			yield { ...common, batches, isLast: false };
			batches = [];
			bytes = 0;
		}
		batches.push(batch);
		bytes += added;
	}
	yield { ...common, batches, isLast: true };
}

const RECORD_BYTES = 64;

/** About its bytes on the disk. */
export const bytesOfBatch = ({ records, values }: VectorBatch): number =>
	records.reduce(
		(sum, { metadata = "" }) => sum + RECORD_BYTES + Buffer.byteLength(metadata),
		values.byteLength,
	);
