/** Queries of an account's indexes in a store with connections, which the registry of the account keeps between them. */
import type { VectorMatch } from "../records.ts";
import { KeptConnections } from "../stores/pgvector/kept-connections.ts";
import { answerOf, type IndexAnswer } from "./index-answer.ts";

/** Of one query. */
export interface QueryContext {
	kept: KeptConnections;
	/** Fires when the caller leaves. */
	signal: AbortSignal;
}

export class StoreQueries {
	#kept = new KeptConnections();
	/** Those that run, by their ids. */
	readonly #running = new Map<string, AbortController>();

	async run(
		id: string,
		query: (context: QueryContext) => Promise<VectorMatch[]>,
	): Promise<IndexAnswer<VectorMatch[]>> {
		const controller = new AbortController();
		this.#running.set(id, controller);
		try {
			return await answerOf(() => query({ kept: this.#kept, signal: controller.signal }));
		} finally {
			this.#running.delete(id);
		}
	}

	/** The caller of the query has left. */
	leave(id: string): void {
		this.#running.get(id)?.abort();
	}

	/** Ends the connections: those that are used end with their query. */
	close(): void {
		this.#kept.close();
		this.#kept = new KeptConnections();
	}
}
