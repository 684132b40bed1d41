/**
 * The connections that an object keeps between the queries of its account. Each is used by one query at a time. This module is in all builds, so
 * it has no driver.
 */
import { type StartTimer, startNativeTimer, type Timer } from "../../../../core/lazy-timer.ts";
import type { SqlConnection } from "./connection.ts";

/** Without a query. */
export const KEEP_MS = 5_000;

interface Kept {
	/** A reload of the configuration has another pool, so a changed address or password opens new connections. */
	pool: object;
	timer: Timer;
}

export class KeptConnections {
	readonly #startTimer: StartTimer;
	readonly #kept = new Map<SqlConnection, Kept>();
	#isClosed = false;

	constructor(startTimer: StartTimer = startNativeTimer) {
		this.#startTimer = startTimer;
	}

	/** The one that was used last, so those that are not needed end. */
	take(pool: object): SqlConnection | undefined {
		for (const [connection, kept] of [...this.#kept].reverse()) {
			if (kept.pool !== pool) continue;
			this.#remove(connection, kept);
			if (connection.isClosed) continue;
			connection.place.isKept = false;
			return connection;
		}
		return undefined;
	}

	put(pool: object, connection: SqlConnection): void {
		if (this.#isClosed) return void connection.end();
		connection.place.isKept = true;
		const timer = this.#startTimer(KEEP_MS, () => this.#end(connection));
		this.#kept.set(connection, { pool, timer });
	}

	/** Ends all connections: those that are used end with their query. */
	close(): void {
		this.#isClosed = true;
		for (const connection of [...this.#kept.keys()]) this.#end(connection);
	}

	#end(connection: SqlConnection): void {
		const kept = this.#kept.get(connection);
		if (kept) this.#remove(connection, kept);
		void connection.end();
	}

	#remove(connection: SqlConnection, { timer }: Kept): void {
		timer.cancel();
		this.#kept.delete(connection);
	}
}
