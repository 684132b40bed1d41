/**
 * Prompts that other isolates have sent to the replicas of a pool: one hash for each request, which isolates exchange in the
 * background. The hash of a prompt's last complete block covers all blocks before it, so the next prompt of a conversation
 * has it among its own blocks. A hint is used until as many new blocks have entered the replica's cache as that has.
 */
import type { Blocks, Holder } from "./prefix-index.ts";
import type { Replica } from "./replica.ts";

export interface PrefixHint {
	/** Of the replica. */
	url: string;
	/** Hash of the last complete block. */
	block: number;
	/** Number of blocks from the beginning of the prompt to this one. */
	blocks: number;
	/** How many of the blocks the replica did not have. */
	newBlocks: number;
}

/** The prompt of a request: its complete blocks, the tokens of a block, and all its tokens. */
interface HintedPrompt {
	blocks: Blocks;
	blockTokens: number;
	inputTokens: number;
}

interface Hinted extends Holder<Replica> {
	/** `replica.newBlocks` at the time of the hint. */
	at: number;
}

/** Hints that one exchange sends. Older ones are dropped. */
const MAX_UNSENT = 128;
/** Hints of other isolates. One takes about 100 bytes. */
const MAX_HINTS = 20_000;

export class PrefixHints {
	#unsent: PrefixHint[] = [];
	/** By the hash of the block, in the order of their arrival. */
	readonly #hints = new Map<number, Hinted>();

	/** A request of this isolate goes to a replica. */
	add(replica: Replica, { blocks, blockTokens, inputTokens }: HintedPrompt, cachedTokens: number): void {
		const newBlocks = Math.max(0, Math.round((inputTokens - cachedTokens) / blockTokens));
		replica.newBlocks += newBlocks;
		// An incomplete last block is in no other prompt.
		const complete = Math.min(blocks.length, Math.floor(inputTokens / blockTokens));
		const block = blocks[complete - 1];
		if (block === undefined) return;
		this.#unsent.push({ url: replica.url, block, blocks: complete, newBlocks });
		if (this.#unsent.length > MAX_UNSENT) this.#unsent.shift();
	}

	/** The newest hints for other isolates, since the last call. */
	take(): PrefixHint[] {
		const hints = this.#unsent;
		this.#unsent = [];
		return hints;
	}

	/** Another isolate has sent a request to the replica. */
	learn(replica: Replica, { block, blocks, newBlocks }: PrefixHint): void {
		replica.newBlocks += newBlocks;
		this.#hints.delete(block);
		this.#hints.set(block, { replica, blocks, at: replica.newBlocks });
		for (const oldest of this.#hints.keys()) {
			if (this.#hints.size <= MAX_HINTS) break;
			this.#hints.delete(oldest);
		}
	}

	/** The replica that another isolate has sent the longest beginning of the prompt to. */
	longest(blocks: Blocks): Holder<Replica> | undefined {
		if (this.#hints.size === 0) return undefined;
		for (let i = blocks.length - 1; i >= 0; i--) {
			const hint = this.#hints.get(blocks[i] ?? Number.NaN);
			if (hint && hint.replica.newBlocks - hint.at <= hint.replica.cacheBlocks) return hint;
		}
		return undefined;
	}

	/** A replica leaves the pool. */
	delete(replica: Replica): void {
		for (const [block, hint] of this.#hints) if (hint.replica === replica) this.#hints.delete(block);
	}
}
