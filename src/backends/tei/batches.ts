/**
 * Splits texts into batches of at most `--max-client-batch-size`, which is 32 by default. The refusal of a larger batch
 * contains the limit; the batch is then sent again in smaller parts. Batches are sent one after the other: the server
 * combines all pending texts itself.
 */
import { AiError, type FailureKey } from "../../core/errors.ts";

const DEFAULT_BATCH_SIZE = 32;
/** 422, or 413 in newer versions. */
const REFUSALS: ReadonlySet<FailureKey> = new Set(["engineRefused", "requestTooLarge"]);
const TOO_MANY = /batch size \d+ > maximum allowed batch size (\d+)/;

/** The replies for all batches of `items`, in order. `start` is the index of the first item of a batch. */
export async function inBatches<Item, Reply>(
	items: readonly Item[],
	send: (batch: Item[], start: number) => Promise<Reply>,
): Promise<Reply[]> {
	const replies: Reply[] = [];
	let size = DEFAULT_BATCH_SIZE;
	let start = 0;
	while (start < items.length) {
		const batch = items.slice(start, start + size);
		try {
			replies.push(await send(batch, start));
			start += batch.length;
		} catch (error) {
			const allowed = allowedSize(error);
			if (allowed === undefined || allowed >= batch.length) throw error;
			size = allowed;
		}
	}
	return replies;
}

function allowedSize(error: unknown): number | undefined {
	if (!(error instanceof AiError) || !REFUSALS.has(error.key)) return undefined;
	const allowed = Number(TOO_MANY.exec(error.description)?.[1]);
	return allowed > 0 ? allowed : undefined;
}
