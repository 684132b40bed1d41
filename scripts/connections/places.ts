/**
 * Counts the connections of a guard. A connection *waits* until a request of it is complete enough to be forwarded; then it has a
 * *place*, which is a connection to the runtime. A caller who sends slowly holds no place.
 *
 * A few places are reserved for health checks and the operator. The addresses with requests under way share the others (fair-shares.ts). A
 * connection between two requests uses no share, and gives its place back when no other one is free: first one whose latest request had no
 * accepted token, then one of the address with the most places. Its caller stays connected, because it may send its next request at the same
 * time. Then the address with the most places loses a connection whose caller does not read.
 */
import { FairShares } from "../../src/core/fair-shares.ts";

/** One of so many places is reserved. */
const PLACES_PER_RESERVED = 24;
/** Of the other places, for addresses without a request under way. */
const FREE_FOR_NEW_ADDRESSES = 0.1;
/** Websockets may be silent for hours, so requests keep the other places. */
const SHARE_OF_SOCKETS = 0.5;
/** A caller who has not read for so long loses the place to another one. */
const UNREAD_MS = 10_000;

export interface Placed {
	readonly address: string;
	/** Since when the caller does not read what it is sent. */
	readonly unreadSince: number | undefined;
	/** The latest request had an accepted token (`known-callers.ts`). */
	readonly isKnown: boolean;
	close(): void;
	/** Closes the connection to the runtime, and waits again. The connection has no request under way. */
	leaveRuntime(): void;
	/** Refuses the request that the caller is sending. Returns whether the caller gets an answer; otherwise the connection is closed. */
	refuse(reason: "full"): boolean;
}

export interface ClassCount {
	used: number;
	limit: number;
	/** Since the start: they got 503. */
	refused: number;
}

export interface ConnectionCounts {
	connections: ClassCount;
	/** Connections without a complete request. */
	waiting: ClassCount;
	sockets: ClassCount;
}

export class Places {
	readonly max: number;
	readonly maxWaiting: number;
	/** Connections in total, with those that read a refusal. */
	readonly maxOpen: number;
	readonly #reserved: number;
	readonly #now: () => number;
	/** The oldest is first. */
	readonly #waiting = new Map<string, Set<Placed>>();
	#waitingCount = 0;
	/** Of the connections with a request, by address. */
	readonly #shares: FairShares;
	readonly #sockets: FairShares;
	/** Connections with an ordinary place and a request. */
	readonly #busy = new Set<Placed>();
	/** Connections with an ordinary place and no request. The first has been idle for the longest time. */
	readonly #idle = new Set<Placed>();
	/** Connections with a reserved place. */
	readonly #probes = new Set<Placed>();
	/** Connections that are websockets, or ask for one. */
	readonly #upgraded = new Set<Placed>();
	/** Connections whose callers read their last bytes. The oldest is first. */
	readonly #ending = new Map<string, Set<Placed>>();
	#endingCount = 0;
	/** Requests that began, since the start. */
	requests = 0;
	readonly #refused = { connections: 0, waiting: 0, sockets: 0 };

	constructor(max: number, now: () => number) {
		this.max = max;
		this.maxWaiting = 2 * max;
		this.maxOpen = 4 * max;
		this.#reserved = Math.floor(max / PLACES_PER_RESERVED);
		this.#shares = sharesOf(max - this.#reserved);
		this.#sockets = sharesOf(Math.max(1, Math.floor(max * SHARE_OF_SOCKETS)));
		this.#now = now;
	}

	/** A new connection. If too many wait, the oldest of the address with the most ones is refused. */
	wait(connection: Placed): void {
		if (this.#waitingCount >= this.maxWaiting && oldestOfMost(this.#waiting)?.refuse("full"))
			this.#refused.waiting++;
		if (addTo(this.#waiting, connection)) this.#waitingCount++;
	}

	/** A request of the connection begins. `isProbe`: it may have a reserved place. Returns whether the connection has a place. */
	take(connection: Placed, isProbe: boolean): boolean {
		if (this.isReserved(connection)) return true;
		this.requests++;
		const { address } = connection;
		if (this.#busy.has(connection)) return true;
		if (!this.#shares.mayTake(address)) this.#unread(address)?.close();
		if (this.#shares.mayTake(address)) {
			// Before another connection waits again, which may refuse the oldest one that waits.
			this.#endWait(connection);
			if (!this.#idle.delete(connection) && this.#ordinary >= this.#shares.max)
				this.#leastIdle()?.leaveRuntime();
			this.#shares.take(address);
			this.#busy.add(connection);
			return true;
		}
		if (this.#probes.size < this.#reserved && isProbe) {
			this.#idle.delete(connection);
			this.#endWait(connection);
			this.#probes.add(connection);
			return true;
		}
		this.#refused.connections++;
		return false;
	}

	/** Whether the connection has a reserved place, which is for one request. */
	isReserved(connection: Placed): boolean {
		return this.#probes.has(connection);
	}

	/** Whether the request of a connection with a place may begin a websocket. */
	takeSocket(connection: Placed): boolean {
		if (this.#upgraded.has(connection)) return true;
		if (!this.#sockets.mayTake(connection.address)) {
			this.#refused.sockets++;
			return false;
		}
		this.#sockets.take(connection.address);
		this.#upgraded.add(connection);
		return true;
	}

	/** The connection has a place and no request now, so it is no websocket. */
	idle(connection: Placed): void {
		this.#endSocket(connection);
		if (this.#endBusy(connection)) this.#idle.add(connection);
	}

	/** The connection gives its place back, and waits for its next request. */
	waitAgain(connection: Placed): void {
		this.#endPlace(connection);
		this.wait(connection);
	}

	/** The caller reads its last bytes. If too many do, the oldest of the address with the most ones is closed. */
	end(connection: Placed): void {
		this.#endWait(connection);
		this.#endPlace(connection);
		if (addTo(this.#ending, connection)) this.#endingCount++;
		if (this.#endingCount > this.max) oldestOfMost(this.#ending)?.close();
	}

	/** The connection is closed. */
	release(connection: Placed): void {
		this.#endWait(connection);
		this.#endPlace(connection);
		if (removeFrom(this.#ending, connection)) this.#endingCount--;
		this.#endSocket(connection);
	}

	/** Connections with a request. */
	get underWay(): number {
		return this.#busy.size;
	}

	counts(): ConnectionCounts {
		return {
			connections: {
				used: this.#ordinary + this.#probes.size,
				limit: this.max,
				refused: this.#refused.connections,
			},
			waiting: { used: this.#waitingCount, limit: this.maxWaiting, refused: this.#refused.waiting },
			sockets: { used: this.#sockets.size, limit: this.#sockets.max, refused: this.#refused.sockets },
		};
	}

	get #ordinary(): number {
		return this.#busy.size + this.#idle.size;
	}

	/** The idle connection that gives its place back first. */
	#leastIdle(): Placed | undefined {
		return this.#mostOf([...this.#idle].filter(({ isKnown }) => !isKnown)) ?? this.#mostOf(this.#idle);
	}

	/** A connection whose caller does not read, so that the address may take its place. */
	#unread(address: string): Placed | undefined {
		const before = this.#now() - UNREAD_MS;
		return this.#mostOf(
			[...this.#busy].filter(
				(one) =>
					(one.unreadSince ?? before + 1) <= before && (this.#shares.isFull || one.address === address),
			),
		);
	}

	/** The first connection of the address with the most places. */
	#mostOf(connections: Iterable<Placed>): Placed | undefined {
		const places = new Map<string, number>();
		for (const { address } of [...this.#busy, ...this.#idle])
			places.set(address, (places.get(address) ?? 0) + 1);
		let found: Placed | undefined;
		for (const one of connections)
			if (!found || (places.get(one.address) ?? 0) > (places.get(found.address) ?? 0)) found = one;
		return found;
	}

	/** The connection to the runtime is closed. */
	#endPlace(connection: Placed): void {
		this.#endBusy(connection);
		this.#idle.delete(connection);
		this.#probes.delete(connection);
	}

	#endSocket(connection: Placed): void {
		if (this.#upgraded.delete(connection)) this.#sockets.release(connection.address);
	}

	#endBusy(connection: Placed): boolean {
		if (!this.#busy.delete(connection)) return false;
		this.#shares.release(connection.address);
		return true;
	}

	#endWait(connection: Placed): void {
		if (removeFrom(this.#waiting, connection)) this.#waitingCount--;
	}
}

const sharesOf = (max: number): FairShares => new FairShares(max, Math.floor(max * FREE_FOR_NEW_ADDRESSES));

function addTo(sets: Map<string, Set<Placed>>, connection: Placed): boolean {
	const same = sets.get(connection.address);
	if (same?.has(connection)) return false;
	if (same) same.add(connection);
	else sets.set(connection.address, new Set([connection]));
	return true;
}

function oldestOfMost(sets: ReadonlyMap<string, ReadonlySet<Placed>>): Placed | undefined {
	const [most] = [...sets.values()].sort((one, other) => other.size - one.size);
	const [oldest] = most ?? [];
	return oldest;
}

function removeFrom(sets: Map<string, Set<Placed>>, connection: Placed): boolean {
	const same = sets.get(connection.address);
	if (!same?.delete(connection)) return false;
	if (same.size === 0) sets.delete(connection.address);
	return true;
}
