/** The latest request of each session, for the sessions that were used last. */
import type { Blocks } from "./prefix-index.ts";

interface LatestRequest<Replica> {
	replica: Replica;
	/** Prompt tokens, of which the last ones fill no complete block. */
	inputTokens: number;
	/** Number of complete blocks. */
	blocks: number;
	opening: number | undefined;
}

const MAX_SESSIONS = 10_000;

export class SessionMemory<Replica> {
	/** In the order of their last use. */
	readonly #sessions = new Map<string, LatestRequest<Replica>>();

	get(key: string): LatestRequest<Replica> | undefined {
		return this.#sessions.get(key);
	}

	set(
		key: string,
		replica: Replica,
		{ blocks, inputTokens, opening }: { blocks: Blocks; inputTokens: number; opening?: number },
	): void {
		this.#sessions.delete(key);
		this.#sessions.set(key, { replica, inputTokens, blocks: blocks.length, opening });
		for (const oldest of this.#sessions.keys()) {
			if (this.#sessions.size <= MAX_SESSIONS) break;
			this.#sessions.delete(oldest);
		}
	}

	/** A replica leaves the pool. */
	deleteReplica(replica: Replica): void {
		for (const [key, latest] of this.#sessions) if (latest.replica === replica) this.#sessions.delete(key);
	}
}
