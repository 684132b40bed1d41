/**
 * Stored bytes on their way to a caller, who may read slowly or not at all. What is read ahead for a caller counts as buffered until the end of
 * the body, or until the caller has left. One who reads nothing for a minute loses the body when another needs the room.
 */
import { hasPassed } from "../core/elapsed.ts";
import { AiError } from "../core/errors.ts";
import { BufferHold } from "../core/process-counts.ts";
import { ROW_BYTES } from "../storage/blobs/piece-table.ts";
import { PulledStream, type Source } from "../streams/pulled-stream.ts";

/** A read of the storage is in memory twice: as the answer of a call, and on its way to the caller. */
const HELD_BYTES = 2 * ROW_BYTES;
const STALLED_MS = 60_000;

interface BodyReader {
	account: string;
	/** Fires when the caller has left. Absent: that is not known, as over RPC. */
	signal?: AbortSignal;
}

/** Of this isolate. The one whose caller has read least lately is first. */
const readings = new Set<Reading>();

/** Opens stored bytes. Throws 3040 (429) before that if the process may hold no more. `undefined`: there are none. */
export async function heldBody<Stored extends { body: ReadableStream<Uint8Array> }>(
	reader: BodyReader,
	open: () => Promise<Stored | undefined>,
): Promise<Stored | undefined> {
	const reading = new Reading(reader);
	try {
		const stored = await open();
		if (!stored) reading.end();
		return stored && { ...stored, body: reading.of(PulledStream.sourceOf(stored.body)) };
	} catch (thrown) {
		reading.end();
		throw thrown;
	}
}

class Reading {
	readonly #hold: BufferHold;
	#readAt = Date.now();
	#isLost = false;

	constructor({ account, signal }: BodyReader) {
		this.#hold = new BufferHold(account);
		this.#takeRoom();
		readings.add(this);
		signal?.addEventListener("abort", () => this.end(), { once: true });
	}

	/** That of stalled readings, if there is no other. Throws 3040. */
	#takeRoom(): void {
		for (const oldest of readings) {
			if (!oldest.isStalled) break;
			if (this.#hold.tryGrow(HELD_BYTES)) return;
			oldest.lose();
		}
		this.#hold.grow(HELD_BYTES);
	}

	get isStalled(): boolean {
		return hasPassed(STALLED_MS, this.#readAt, Date.now());
	}

	/** Its caller loses the body. */
	lose(): void {
		this.#isLost = true;
		this.end();
	}

	/** May be called again. */
	end(): void {
		readings.delete(this);
		this.#hold.release();
	}

	of(source: Source<Uint8Array>): ReadableStream<Uint8Array> {
		return new PulledStream<Uint8Array>({
			pull: async () => {
				if (this.#isLost) {
					void source.cancel(undefined).catch(() => {});
					throw new AiError(
						"outOfCapacity",
						"The answer was not read for a minute, and others needed its room",
					);
				}
				readings.delete(this);
				readings.add(this);
				this.#readAt = Date.now();
				try {
					const piece = await source.pull();
					if (!piece) this.end();
					return piece;
				} catch (thrown) {
					this.end();
					throw thrown;
				}
			},
			cancel: (reason) => {
				this.end();
				return source.cancel(reason);
			},
		});
	}
}
