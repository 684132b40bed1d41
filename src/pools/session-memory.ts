/** Which replica a session used last, for the sessions that were used last. */

const MAX_SESSIONS = 10_000;

export class SessionMemory<Replica> {
	/** In the order of their last use. */
	readonly #sessions = new Map<string, Replica>();

	get(key: string): Replica | undefined {
		return this.#sessions.get(key);
	}

	set(key: string, replica: Replica): void {
		this.#sessions.delete(key);
		this.#sessions.set(key, replica);
		for (const oldest of this.#sessions.keys()) {
			if (this.#sessions.size <= MAX_SESSIONS) break;
			this.#sessions.delete(oldest);
		}
	}

	/** A replica leaves the pool. */
	deleteReplica(replica: Replica): void {
		for (const [key, latest] of this.#sessions) if (latest === replica) this.#sessions.delete(key);
	}
}
