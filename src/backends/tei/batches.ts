/**
 * Texts in as many calls as the server needs. How many it takes at once is `--max-client-batch-size`: 32 unless its
 * operator chose otherwise. A smaller number is told in the refusal, and asked for again; one after the other, because
 * the server makes batches of its own from all that it is asked.
 */
import { AiError, type FailureKey } from "../../core/errors.ts";

const USUAL_BATCH_SIZE = 32;
/** 422, or 413 in newer versions. */
const REFUSALS: ReadonlySet<FailureKey> = new Set(["engineRefused", "requestTooLarge"]);
const TOO_MANY = /batch size \d+ > maximum allowed batch size (\d+)/;

/** The answers to all parts of `items`, in their order; `start` is the place of a part's first item. */
export async function inBatches<Item, Reply>(
	items: readonly Item[],
	ask: (part: Item[], start: number) => Promise<Reply>,
): Promise<Reply[]> {
	const replies: Reply[] = [];
	let size = USUAL_BATCH_SIZE;
	let start = 0;
	while (start < items.length) {
		const part = items.slice(start, start + size);
		try {
			replies.push(await ask(part, start));
			start += part.length;
		} catch (error) {
			const allowed = allowedSize(error);
			if (allowed === undefined || allowed >= part.length) throw error;
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
