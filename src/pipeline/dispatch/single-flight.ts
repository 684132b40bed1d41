/**
 * Work that identical requests of one isolate share: the first to ask has it done, the others wait for its result, each
 * may leave by itself, and when all have left the work is stopped. Results are plain values; streams are not shared.
 *
 * A request's timers, fetches and streams may be touched only while that request runs. So nobody waits for another's
 * promise: each waits for its own, which the one that works settles, and that one is asked to stop in the same way. A
 * request that waits needs something of its own under way, too, or the runtime takes it for one that hangs: a timer.
 *
 * Known limit: a request whose caller has left goes on working for the others, but the runtime gives it half a minute.
 * Whoever still waits then does the work itself.
 */
import { AiError } from "../../core/errors.ts";

/** Below the time that the runtime gives to a request whose caller has left. */
const ORPHANED_MS = 20_000;
/** How often those who wait look whether they still may. */
const LOOK_MS = 1_000;

export interface FlightWorld {
	now(): number;
	wait(milliseconds: number, signal?: AbortSignal): Promise<void>;
	waitUntil(promise: Promise<unknown>): void;
}

export interface Landed<T> {
	value: T;
	/** Of all who were given this value, exactly one is its owner. */
	owner: boolean;
}

interface Waiter<T> {
	land(landed: Landed<T>): void;
	fail(error: unknown): void;
}

interface Flight<T> {
	/** In the order of their coming. */
	waiters: Set<Waiter<T>>;
	/** When the caller of the request that works has left. */
	orphanedAt?: number;
	/** Called by the last one to leave. */
	stop(): void;
}

export class SingleFlight<T> {
	readonly #flights = new Map<string, Flight<T>>();

	/** How many are under way. */
	get size(): number {
		return this.#flights.size;
	}

	/**
	 * The result of `work`, or of the same work that is under way. `work` is called at once or not at all; its signal
	 * fires when everybody has left. Rejects with 3008 when `signal` fires.
	 */
	async join(
		key: string,
		signal: AbortSignal,
		world: FlightWorld,
		work: (signal: AbortSignal) => Promise<T>,
	): Promise<Landed<T>> {
		if (signal.aborted) throw new AiError("aborted");
		const known = this.#flights.get(key);
		const flight = known ?? this.#start(key, world, work);
		const own = Promise.withResolvers<Landed<T> | "left" | "orphaned">();
		const waiter: Waiter<T> = { land: own.resolve, fail: own.reject };
		flight.waiters.add(waiter);

		const leave = () => own.resolve("left");
		signal.addEventListener("abort", leave);
		const watch = new AbortController();
		const look = async () => {
			while (!watch.signal.aborted) {
				await world.wait(LOOK_MS, watch.signal);
				if (known && world.now() - (known.orphanedAt ?? world.now()) >= ORPHANED_MS) own.resolve("orphaned");
			}
		};
		look().catch(() => {});
		try {
			const landed = await own.promise;
			if (typeof landed === "object") return landed;
			if (!known) flight.orphanedAt = world.now();
			if (landed === "left") throw new AiError("aborted");
		} finally {
			watch.abort();
			signal.removeEventListener("abort", leave);
			flight.waiters.delete(waiter);
			if (flight.waiters.size === 0) {
				this.#close(key, flight);
				flight.stop();
			}
		}
		this.#close(key, flight);
		return this.join(key, signal, world, work);
	}

	#start(key: string, world: FlightWorld, work: (signal: AbortSignal) => Promise<T>): Flight<T> {
		const stopped = new AbortController();
		const stop = Promise.withResolvers<void>();
		stop.promise.then(() => stopped.abort());
		const flight: Flight<T> = { waiters: new Set(), stop: stop.resolve };
		this.#flights.set(key, flight);
		const over = () => {
			this.#close(key, flight);
			return [...flight.waiters];
		};
		world.waitUntil(
			work(stopped.signal).then(
				(value) => {
					for (const [place, waiter] of over().entries()) waiter.land({ value, owner: place === 0 });
				},
				(error: unknown) => {
					for (const waiter of over()) waiter.fail(error);
				},
			),
		);
		return flight;
	}

	/** Nobody may join any more. */
	#close(key: string, flight: Flight<T>): void {
		if (this.#flights.get(key) === flight) this.#flights.delete(key);
	}
}
