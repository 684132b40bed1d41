/**
 * Counts the connections of a guard. A connection *waits* until a request of it is complete enough to be forwarded; then it has a
 * *place*, which is a connection to the runtime. A caller who sends slowly holds no place.
 *
 * A few places are reserved for health checks and the operator. One address may take a place while it has fewer than a multiple of the
 * free ones. When no place is free, a connection between two requests loses its place, or one whose caller does not read.
 */

/** One of so many places is reserved. */
const PLACES_PER_RESERVED = 24;
/** One address alone gets 19 of 20 places. The remaining ones answer another address. */
const SHARE_OF_ADDRESS = 19;
/** Websockets may be silent for hours, so requests keep the other places. */
const SHARE_OF_SOCKETS = 0.5;
/** A caller who has not read for so long loses the place to another one. */
const UNREAD_MS = 10_000;

export interface Placed {
	readonly address: string;
	/** Since when the caller does not read what it is sent. */
	readonly unreadSince: number | undefined;
	close(): void;
	/** Refuses the request that the caller is sending. */
	refuse(reason: "full"): void;
}

export type PlaceKind = "ordinary" | "reserved";

export interface ClassCount {
	used: number;
	limit: number;
	/** Since the start. */
	refused: number;
}

export interface ConnectionCounts {
	connections: ClassCount;
	/** Connections without a complete request. `refused`: they got 503. */
	waiting: ClassCount;
	sockets: ClassCount;
}

export class Places {
	readonly max: number;
	readonly maxWaiting: number;
	/** Connections in total, with those that read a refusal. */
	readonly maxOpen: number;
	readonly #reserved: number;
	readonly #maxSockets: number;
	readonly #now: () => number;
	/** The oldest is first. */
	readonly #waiting = new Map<string, Set<Placed>>();
	#waitingCount = 0;
	readonly #held = new Map<string, Set<Placed>>();
	#heldCount = 0;
	readonly #sockets = new Map<string, number>();
	#socketCount = 0;
	/** Connections with a place and no request. The first has been idle for the longest time. */
	readonly #idle = new Set<Placed>();
	/** Connections whose callers read their last bytes. */
	readonly #ending = new Set<Placed>();
	readonly #refused = { connections: 0, waiting: 0, sockets: 0 };

	constructor(max: number, now: () => number) {
		this.max = max;
		this.maxWaiting = 2 * max;
		this.maxOpen = 4 * max;
		this.#reserved = Math.floor(max / PLACES_PER_RESERVED);
		this.#maxSockets = Math.max(1, Math.floor(max * SHARE_OF_SOCKETS));
		this.#now = now;
	}

	/** A new connection. If too many wait, the oldest of the address with the most ones is refused. */
	wait(connection: Placed): void {
		if (this.#waitingCount >= this.maxWaiting) {
			const [longest] = [...this.#waiting.values()].sort((one, other) => other.size - one.size);
			const [oldest] = longest ?? [];
			this.#refused.waiting++;
			oldest?.refuse("full");
		}
		addTo(this.#waiting, connection);
		this.#waitingCount++;
	}

	/** Gives a waiting connection a place. `isProbe`: also a reserved one. */
	take(connection: Placed, isProbe: () => boolean): PlaceKind | undefined {
		const { address } = connection;
		if (!this.#isFree(address)) this.#evict(address);
		if (this.#isFree(address)) return this.#hold(connection, "ordinary");
		if (this.#heldCount < this.max && isProbe()) return this.#hold(connection, "reserved");
		this.#refused.connections++;
		return undefined;
	}

	/** Whether a connection with a place may become a websocket, which it is until it closes. */
	takeSocket(address: string): boolean {
		const own = this.#sockets.get(address) ?? 0;
		if (own >= SHARE_OF_ADDRESS * (this.#maxSockets - this.#socketCount)) {
			this.#refused.sockets++;
			return false;
		}
		this.#sockets.set(address, own + 1);
		this.#socketCount++;
		return true;
	}

	/** A connection with a place has no request now. */
	idle(connection: Placed): void {
		this.#idle.add(connection);
	}

	/** A connection with a place has a request. */
	busy(connection: Placed): void {
		this.#idle.delete(connection);
	}

	/** The caller reads its last bytes. If too many do, the first one is closed. */
	end(connection: Placed): void {
		this.#endWait(connection);
		this.#ending.add(connection);
		const [first] = this.#ending;
		if (this.#ending.size > this.max) first?.close();
	}

	/** The connection is closed. */
	release(connection: Placed, isSocket: boolean): void {
		this.#endWait(connection);
		this.#idle.delete(connection);
		this.#ending.delete(connection);
		if (removeFrom(this.#held, connection)) this.#heldCount--;
		if (!isSocket) return;
		this.#socketCount--;
		const others = (this.#sockets.get(connection.address) ?? 1) - 1;
		if (others > 0) this.#sockets.set(connection.address, others);
		else this.#sockets.delete(connection.address);
	}

	counts(): ConnectionCounts {
		return {
			connections: { used: this.#heldCount, limit: this.max, refused: this.#refused.connections },
			waiting: { used: this.#waitingCount, limit: this.maxWaiting, refused: this.#refused.waiting },
			sockets: { used: this.#socketCount, limit: this.#maxSockets, refused: this.#refused.sockets },
		};
	}

	#isFree(address: string): boolean {
		const free = this.max - this.#reserved - this.#heldCount;
		return (this.#held.get(address)?.size ?? 0) < SHARE_OF_ADDRESS * free;
	}

	#hold(connection: Placed, kind: PlaceKind): PlaceKind {
		this.#endWait(connection);
		addTo(this.#held, connection);
		this.#heldCount++;
		return kind;
	}

	/** An address that has its share loses one of its own connections. */
	#evict(address: string): void {
		const isFull = this.#heldCount >= this.max - this.#reserved;
		this.#evictable(isFull ? undefined : address)?.close();
	}

	#evictable(address: string | undefined): Placed | undefined {
		const mayLose = (one: Placed): boolean => address === undefined || one.address === address;
		for (const one of this.#idle) if (mayLose(one)) return one;
		const before = this.#now() - UNREAD_MS;
		for (const connections of this.#held.values())
			for (const one of connections)
				if (mayLose(one) && (one.unreadSince ?? before + 1) <= before) return one;
		return undefined;
	}

	#endWait(connection: Placed): void {
		if (removeFrom(this.#waiting, connection)) this.#waitingCount--;
	}
}

function addTo(sets: Map<string, Set<Placed>>, connection: Placed): void {
	const same = sets.get(connection.address);
	if (same) same.add(connection);
	else sets.set(connection.address, new Set([connection]));
}

function removeFrom(sets: Map<string, Set<Placed>>, connection: Placed): boolean {
	const same = sets.get(connection.address);
	if (!same?.delete(connection)) return false;
	if (same.size === 0) sets.delete(connection.address);
	return true;
}
