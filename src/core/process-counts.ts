/** The counts of this isolate that code of every layer takes from. `config/capacity.ts` knows the limits. */
import { AsyncLocalStorage } from "node:async_hooks";
import { AiError } from "./errors.ts";
import { addGarbage } from "./garbage.ts";
import { SharedCount } from "./shared-count.ts";

/** For an isolate of 128 MB, as on Cloudflare. */
const DEFAULT_BUFFERED_BYTES = 64 * 1024 * 1024;
/** 20,000 vectors with 768 dimensions have 18 MB of codes, and 59 MB of values. */
const DEFAULT_VECTOR_BYTES = 68 * 1024 * 1024;
/** Of one account at most a half. */
const MAX_SHADOWS = 32;
/** Small, because a collector that is slow holds bodies for as long as it may. */
const MAX_EXPORT_BYTES = 8 * 1024 * 1024;

export const bufferedBytes = new SharedCount({
	name: "buffered_bytes",
	title: "bytes of buffered requests and answers",
	max: DEFAULT_BUFFERED_BYTES,
});

export const openSockets = new SharedCount({
	name: "sockets",
	title: "websockets",
	max: Number.POSITIVE_INFINITY,
});

/** On the disk, until the streams expire. */
export const runBytes = new SharedCount({
	name: "run_bytes",
	title: "bytes of resumable streams",
	max: Number.POSITIVE_INFINITY,
});

/** Of the codes and values of vectors that scans have in memory. Others are read from the disk. */
export const vectorBytes = new SharedCount({
	name: "vector_bytes",
	title: "bytes of vectors in memory",
	max: DEFAULT_VECTOR_BYTES,
});

/** Requests of shadows under way. They wait for engines, beside live requests. */
export const runningShadows = new SharedCount({ name: "shadows", title: "shadows", max: MAX_SHADOWS });

/** Of bodies for collectors that are sent, or wait for a place. */
export const exportBytes = new SharedCount({
	name: "export_bytes",
	title: "bytes for collectors",
	max: MAX_EXPORT_BYTES,
});

export const PROCESS_COUNTS: readonly SharedCount[] = [
	bufferedBytes,
	openSockets,
	runBytes,
	vectorBytes,
	runningShadows,
	exportBytes,
];

/** A shorter body or value is not counted: it is in memory only for a moment. */
export const UNCOUNTED_BYTES = 16 * 1024;

const owners = new AsyncLocalStorage<HoldOwner>();

/** What counts until it is released. `release` may be called again. */
export interface Hold {
	release(): void;
}

/**
 * Who holds buffers and places, such as a websocket, or a run of durable work, whose code never continues if the runtime resets the object
 * that has called it. The start of that object then releases what the run holds.
 */
export class HoldOwner {
	readonly #holds = new Set<Hold>();

	/** Of the code that runs now. */
	static get present(): HoldOwner | undefined {
		return owners.getStore();
	}

	/** The holds that `work` makes are those of this owner. */
	run<T>(work: () => T): T {
		return owners.run(this, work);
	}

	add(hold: Hold): void {
		this.#holds.add(hold);
	}

	delete(hold: Hold): void {
		this.#holds.delete(hold);
	}

	/** May be called again. */
	release(): void {
		for (const hold of this.#holds) hold.release();
	}
}

/** Bytes that one buffer takes as it grows. */
export class BufferHold implements Hold {
	readonly #account: string;
	readonly #owner = HoldOwner.present;
	#isClosed = false;
	#bytes = 0;

	constructor(account: string) {
		this.#account = account;
	}

	/** Before the buffer grows. Returns whether it may. */
	tryGrow(bytes: number): boolean {
		if (this.#isClosed || !bufferedBytes.tryTake(this.#account, bytes)) return false;
		this.#add(bytes);
		return true;
	}

	/** Throws 3040 (429) instead, or `aborted` after {@link close}. */
	grow(bytes: number): void {
		if (this.#isClosed) throw new AiError("aborted");
		bufferedBytes.take(this.#account, bytes);
		this.#add(bytes);
	}

	/** Before a value that came over RPC is used. Its depth is bounded, and it does not contain itself. Throws 3040 (429). */
	growBy(value: unknown): void {
		const bytes = bytesOf(value);
		if (bytes > UNCOUNTED_BYTES) this.grow(bytes);
	}

	/** {@link close}s also when `left` fires: in the context of a caller who has left, no code continues after an `await`. */
	releaseOn(left: AbortSignal): this {
		if (left.aborted) this.close();
		else left.addEventListener("abort", () => this.close(), { once: true });
		return this;
	}

	/** Releases the bytes. The buffer does not grow any more, because nothing would release what comes later. */
	close(): void {
		this.#isClosed = true;
		this.release();
	}

	/** May be called again. */
	release(): void {
		if (this.#bytes === 0) return;
		bufferedBytes.release(this.#account, this.#bytes);
		addGarbage(this.#bytes);
		this.#bytes = 0;
		this.#owner?.delete(this);
	}

	#add(bytes: number): void {
		this.#bytes += bytes;
		this.#owner?.add(this);
	}
}

const NUMBER_BYTES = 8;

function bytesOf(value: unknown): number {
	if (typeof value === "string") return value.length;
	if (typeof value !== "object" || value === null) return NUMBER_BYTES;
	if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return value.byteLength;
	let bytes = NUMBER_BYTES;
	for (const inner of Array.isArray(value) ? value : Object.values(value)) bytes += bytesOf(inner);
	return bytes;
}
