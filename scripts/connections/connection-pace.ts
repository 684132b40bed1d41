/** What one connection uses of the runtime's time, and its waits for it (`pace.ts`). */
import type { Socket } from "node:net";
import type { ConnectionContext } from "./connection-context.ts";
import type { MessageHead } from "./framing.ts";
import { credentialsOf, type KnownCallers } from "./known-callers.ts";
import type { Pace, PacedCaller } from "./pace.ts";
import type { RuntimeWorker, WorkerChoice } from "./worker-choice.ts";

/** A request that is refused also has a log, and its account is asked. */
const UNITS_OF_REFUSAL = 3;
const UNITS_OF_PIECE = 0.1;
const BYTES_PER_UNIT = 32 * 1024;

/** Much at once. A stream of tokens is far below it. */
const LARGE_BURST_BYTES = 128 * 1024;
const BURST_MS = 1_000;

type PaceContext = Pick<ConnectionContext, "callers" | "isProbe" | "now" | "workers">;

/** Health checks and the operator never wait. */
const PROBE: PacedCaller = { key: "probe", weight: Number.POSITIVE_INFINITY };

/** A socket that is read while there is no reason to wait. */
export class Reading {
	readonly #socket: Socket;
	readonly #reasons = new Set<string>();

	constructor(socket: Socket) {
		this.#socket = socket;
	}

	stop(reason: string): void {
		this.#reasons.add(reason);
		this.#socket.pause();
	}

	/** No reason to wait is left. */
	clearReasons(): void {
		this.#reasons.clear();
		this.#socket.resume();
	}

	/** The bytes were read too early: they are read again after so many milliseconds. */
	readLater(bytes: Buffer, ms: number): void {
		this.stop("early");
		this.#socket.unshift(bytes);
		setTimeout(() => this.goOn("early"), ms).unref();
	}

	goOn(reason: string): void {
		if (this.#reasons.delete(reason) && this.#reasons.size === 0) this.#socket.resume();
	}
}

export class ConnectionPace {
	readonly #now: () => number;
	readonly #isProbe: PaceContext["isProbe"];
	readonly #workers: WorkerChoice;
	readonly #callers: KnownCallers;
	readonly #address: string;
	/** Of the latest request. */
	#caller: PacedCaller;
	#head: MessageHead | undefined;
	/** Of the latest request: hashes. */
	#credentials: readonly string[] = [];
	readonly #waits = new Set<() => void>();
	#worker: RuntimeWorker;
	#burst = { since: 0, bytes: 0 };

	constructor(context: PaceContext, address: string) {
		const { callers, isProbe, now, workers } = context;
		this.#now = now;
		this.#isProbe = isProbe;
		this.#workers = workers;
		this.#worker = workers.own;
		this.#callers = callers;
		this.#address = address;
		this.#caller = callers.of(address, []);
	}

	/** The head of a request. */
	read(head: MessageHead): void {
		this.#head = head;
		this.#credentials = credentialsOf(head);
		const caller = this.#callers.of(this.#address, this.#credentials);
		// A proxy sends requests of several callers on one connection.
		if (caller.key !== this.#caller.key) this.#burst.bytes = 0;
		this.#caller = caller;
	}

	/** For the request that was read. Ends the waits for the worker before. Returns whether another one serves the connection from now on. */
	chooseWorker(head: MessageHead): boolean {
		if (!this.#workers.hasPeer) return false;
		const worker = this.#workers.of(head, { key: this.#caller.key, isKnown: this.isKnown });
		if (worker === this.#worker) return false;
		this.end();
		this.#worker = worker;
		return true;
	}

	/** The request that was read is complete enough. Returns whether it begins at once; otherwise `start` is called later. */
	begin(start: () => void): boolean {
		const begins = this.#mayBegin();
		if (begins) this.#pace.use(this.#caller, 1);
		else
			this.#wait(() => {
				this.#pace.use(this.#caller, 1);
				start();
			});
		return begins;
	}

	/** Only where work of the caller must wait, it is of interest whether it is a probe. */
	#mayBegin(): boolean {
		if (this.#caller === PROBE || this.#pace.mayBegin(this.#caller)) return true;
		if (!this.#head || !this.#isProbe(this.#head)) return false;
		this.#caller = PROBE;
		return true;
	}

	/** The Unix socket of the worker. */
	get target(): string {
		return this.#worker.target;
	}

	get #pace(): Pace {
		return this.#worker.pace;
	}

	get credentials(): readonly string[] {
		return this.#credentials;
	}

	/** Whether the latest request has a token that the gateway has accepted. */
	get isKnown(): boolean {
		return this.#callers.isKnown(this.#credentials);
	}

	/** Frames of a websocket were passed on. Each costs the runtime about as much as a piece of bytes. */
	passedFrames(count: number): void {
		this.#pace.use(this.#caller, count * UNITS_OF_PIECE);
	}

	/** Bytes were passed on. The socket that they came from is not read while the caller must wait. */
	passed(bytes: number, from: Reading): void {
		this.#pace.use(this.#caller, UNITS_OF_PIECE + bytes / BYTES_PER_UNIT);
		this.#countBurst(bytes);
		if (this.#mayBegin()) return;
		from.stop("pace");
		this.#wait(() => from.goOn("pace"));
	}

	#countBurst(bytes: number): void {
		if (!this.#workers.hasPeer || !this.isKnown) return;
		const at = this.#now();
		if (at - this.#burst.since > BURST_MS) this.#burst = { since: at, bytes: 0 };
		this.#burst.bytes += bytes;
		if (this.#burst.bytes > LARGE_BURST_BYTES) this.#workers.markLarge(this.#caller.key);
	}

	/** `credentials`: of the request. */
	answered(credentials: readonly string[], status: number): void {
		if (status >= 400 && status < 500) this.#pace.use(this.#caller, UNITS_OF_REFUSAL);
		if (status === 401) this.#callers.forget(credentials);
	}

	/** The request has waited too long. */
	refuse(): void {
		this.#pace.refuse();
	}

	end(): void {
		for (const stop of this.#waits) stop();
		this.#waits.clear();
	}

	#wait(start: () => void): void {
		const stop = this.#pace.wait(this.#caller, () => {
			this.#waits.delete(stop);
			start();
		});
		this.#waits.add(stop);
	}
}
