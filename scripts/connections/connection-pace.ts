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

/** A request whose time is counted. */
export interface PacedRequest {
	caller: PacedCaller;
	/** Hashes. */
	credentials: readonly string[];
}

interface PassedOptions {
	frames?: number;
	/** Default: the latest one. */
	request?: PacedRequest | undefined;
}

type PaceContext = Pick<ConnectionContext, "callers" | "now" | "workers">;

/** They answer at once, without a token. */
const HEALTH_CHECKS: ReadonlySet<string> = new Set(["/health", "/ready"]);

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
		this.stop("frames");
		this.#socket.unshift(bytes);
		setTimeout(() => this.goOn("frames"), ms).unref();
	}

	goOn(reason: string): void {
		if (this.#reasons.delete(reason) && this.#reasons.size === 0) this.#socket.resume();
	}
}

export class ConnectionPace {
	readonly #now: () => number;
	readonly #workers: WorkerChoice;
	readonly #callers: KnownCallers;
	readonly #address: string;
	/** The latest one. */
	#request: PacedRequest;
	/** Each ends one wait. */
	readonly #waits = new Set<() => void>();
	#worker: RuntimeWorker;
	/** Of a caller with an accepted token. A proxy sends requests of several callers on one connection. */
	#burst = { key: "", since: 0, bytes: 0 };

	constructor(context: PaceContext, address: string) {
		const { callers, now, workers } = context;
		this.#now = now;
		this.#workers = workers;
		this.#worker = workers.own;
		this.#callers = callers;
		this.#address = address;
		this.#request = { caller: callers.of(address, []), credentials: [] };
	}

	/** The head of a request. */
	read(head: MessageHead): void {
		const credentials = credentialsOf(head);
		const isProbe = isHealthCheck(head) || this.#callers.isOperator(credentials);
		const caller = isProbe ? PROBE : this.#callers.of(this.#address, credentials);
		this.#request = { caller, credentials };
	}

	/** For the request that was read. Ends the waits for the worker before. Returns whether another one serves the connection from now on. */
	chooseWorker(head: MessageHead): boolean {
		if (!this.#workers.hasPeer) return false;
		const { isKnown, isProbe } = this;
		const worker = this.#workers.of(head, { key: this.#request.caller.key, isKnown, isProbe });
		if (worker === this.#worker) return false;
		this.end();
		this.#worker = worker;
		return true;
	}

	/** The request that was read is complete enough. Returns whether it begins at once; otherwise `start` is called later. */
	begin(start: () => void): boolean {
		const { caller } = this.#request;
		const begins = this.#mayBegin(caller);
		if (begins) this.#pace.use(caller, 1);
		else
			this.#wait(caller, {
				start: () => {
					this.#pace.use(caller, 1);
					start();
				},
			});
		return begins;
	}

	#mayBegin(caller: PacedCaller): boolean {
		return caller === PROBE || this.#pace.mayBegin(caller);
	}

	/** The Unix socket of the worker. */
	get target(): string {
		return this.#worker.target;
	}

	get #pace(): Pace {
		return this.#worker.pace;
	}

	/** The latest one. */
	get request(): PacedRequest {
		return this.#request;
	}

	/** Whether the latest request is a health check or the operator's. */
	get isProbe(): boolean {
		return this.#request.caller === PROBE;
	}

	/** Whether the latest request has a token that the gateway has accepted. */
	get isKnown(): boolean {
		return this.#callers.isKnown(this.#request.credentials);
	}

	/**
	 * Bytes of the request or of its answer were passed on. The socket that they came from is not read while the caller must wait. They count at
	 * the end of the wait: otherwise all sockets of the caller would be read again at once, and other callers would wait for what they pass.
	 * `frames`: of a websocket. Each costs the runtime about as much as a piece of bytes.
	 */
	passed(bytes: number, from: Reading, { frames = 0, request = this.#request }: PassedOptions = {}): void {
		const { caller } = request;
		const units = UNITS_OF_PIECE * (1 + frames) + bytes / BYTES_PER_UNIT;
		const use = (): void => this.#pace.use(caller, units);
		this.#countBurst(bytes, request);
		if (this.#mayBegin(caller)) {
			use();
			return;
		}
		from.stop("pace");
		const start = (): void => {
			use();
			from.goOn("pace");
		};
		this.#wait(caller, { start, end: use });
	}

	#countBurst(bytes: number, { caller: { key }, credentials }: PacedRequest): void {
		if (!this.#workers.hasPeer || key === PROBE.key || !this.#callers.isKnown(credentials)) return;
		const at = this.#now();
		if (key !== this.#burst.key || at - this.#burst.since > BURST_MS)
			this.#burst = { key, since: at, bytes: 0 };
		this.#burst.bytes += bytes;
		if (this.#burst.bytes > LARGE_BURST_BYTES) this.#workers.markLarge(key);
	}

	answered({ caller, credentials }: PacedRequest, status: number): void {
		if (status >= 400 && status < 500) this.#pace.use(caller, UNITS_OF_REFUSAL);
		if (status === 401) this.#callers.forget(credentials);
	}

	/** The request has waited too long. */
	refuse(): void {
		this.#pace.refuse();
	}

	/** Ends the waits. What was passed on counts now; a request that has not begun does not. */
	end(): void {
		for (const end of this.#waits) end();
		this.#waits.clear();
	}

	/** `end`: called in place of `start` if the wait ends before. */
	#wait(caller: PacedCaller, { start, end }: { start(): void; end?(): void }): void {
		const stop = this.#pace.wait(caller, () => {
			this.#waits.delete(stopAndEnd);
			start();
		});
		const stopAndEnd = (): void => {
			stop();
			end?.();
		};
		this.#waits.add(stopAndEnd);
	}
}

const isHealthCheck = ({ startLine: [method, target = ""] }: MessageHead): boolean =>
	(method === "GET" || method === "HEAD") && HEALTH_CHECKS.has(target);
