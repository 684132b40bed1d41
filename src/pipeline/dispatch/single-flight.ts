/**
 * Single-flight: identical requests of one isolate share one piece of work. The first request does the work, and the others
 * wait for its result. Each may leave at any time; when all have left, the work is stopped. Results are plain values; streams
 * are not shared.
 *
 * A request's timers, fetches and streams may be used only while that request runs. Therefore no request waits for a promise
 * of another: each waits for its own, which the working request settles. A waiting request also needs a timer of its own,
 * because the runtime ends requests that have nothing under way.
 *
 * Known limit: the runtime stops a request half a minute after its caller has disconnected, even if others wait for its work.
 * They then do the work themselves.
 */
import { hasPassed } from "../../core/elapsed.ts";
import { AiError } from "../../core/errors.ts";
import { settledElsewhere } from "../../core/settled-elsewhere.ts";

/** Less than the runtime gives a request whose caller has disconnected. */
const ORPHANED_MS = 20_000;
/** Interval at which waiting requests check the working one. */
const CHECK_MS = 1_000;

interface FlightServices {
	now(): number;
	wait(milliseconds: number, signal?: AbortSignal): Promise<void>;
	waitUntil(promise: Promise<unknown>): void;
}

interface SharedResult<T> {
	value: T;
	/** True for exactly one of the requests that receive this value. */
	owner: boolean;
}

interface Waiter<T> {
	resolve(result: SharedResult<T>): void;
	reject(error: unknown): void;
}

interface Flight<T> {
	/** In the order of arrival. */
	waiters: Set<Waiter<T>>;
	/** When the caller of the working request disconnected. */
	orphanedAt?: number;
	/** Called by the last one to leave. Does nothing after the work has ended, because its request may have ended too. */
	stop(): void;
}

export class SingleFlight<T> {
	readonly #flights = new Map<string, Flight<T>>();

	/** The number of flights under way. */
	get size(): number {
		return this.#flights.size;
	}

	/**
	 * The result of `work`, or of the same work that is under way. `work` is called at once or not at all; its signal fires
	 * when all requests have left. Rejects with 3008 when `signal` fires.
	 */
	async join(
		key: string,
		signal: AbortSignal,
		services: FlightServices,
		work: (signal: AbortSignal) => Promise<T>,
	): Promise<SharedResult<T>> {
		if (signal.aborted) throw new AiError("aborted");
		const known = this.#flights.get(key);
		const flight = known ?? this.#start(key, services, work);
		const own = settledElsewhere<SharedResult<T> | "left" | "orphaned">();
		const waiter: Waiter<T> = { resolve: own.resolve, reject: own.reject };
		flight.waiters.add(waiter);

		const check = new AbortController();
		signal.addEventListener("abort", () => own.resolve("left"), { signal: check.signal });
		const checkOrphan = async () => {
			while (!check.signal.aborted) {
				await services.wait(CHECK_MS, check.signal);
				const { orphanedAt } = flight;
				if (orphanedAt !== undefined && hasPassed(ORPHANED_MS, orphanedAt, services.now()))
					own.resolve("orphaned");
			}
		};
		checkOrphan().catch(() => {});
		try {
			const result = await own.promise;
			if (typeof result === "object") return result;
			if (!known) flight.orphanedAt = services.now();
			if (result === "left") throw new AiError("aborted");
		} finally {
			check.abort();
			flight.waiters.delete(waiter);
			if (flight.waiters.size === 0) {
				this.#close(key, flight);
				flight.stop();
			}
		}
		this.#close(key, flight);
		return this.join(key, signal, services, work);
	}

	#start(key: string, services: FlightServices, work: (signal: AbortSignal) => Promise<T>): Flight<T> {
		const stopped = new AbortController();
		const stop = settledElsewhere<void>();
		stop.promise.then(() => stopped.abort());
		const flight: Flight<T> = {
			waiters: new Set(),
			stop: stop.resolve,
		};
		this.#flights.set(key, flight);
		const close = () => {
			this.#close(key, flight);
			flight.stop = () => {};
			return [...flight.waiters];
		};
		services.waitUntil(
			work(stopped.signal).then(
				(value) => {
					for (const [place, waiter] of close().entries()) waiter.resolve({ value, owner: place === 0 });
				},
				(error: unknown) => {
					for (const waiter of close()) waiter.reject(error);
				},
			),
		);
		return flight;
	}

	/** No more requests may join. */
	#close(key: string, flight: Flight<T>): void {
		if (this.#flights.get(key) === flight) this.#flights.delete(key);
	}
}
