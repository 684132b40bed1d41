/**
 * A `ReadableStream` over a pull function. Each `ReadableStream` stage costs two calls into the runtime per piece, so the
 * next stage takes the source out of the stream ({@link PulledStream.sourceOf}) and pulls it directly.
 *
 * Stages chain with `then` and callbacks that they create once. An `async` function allocates about 280 bytes per piece,
 * and each garbage collection pauses all streams of the isolate.
 */
import { brokenOff, isLostConnection } from "./broken-off.ts";

/** A source for one reader. The reader pulls the next piece only after the previous pull has settled. */
export interface Source<Piece> {
	/** Resolves with `undefined` at the end. Rejects if the stream fails. */
	pull(): Promise<Piece | undefined>;
	/** Ends the source: no pull follows. A pending pull may still settle; its result is ignored. */
	cancel(reason: unknown): Promise<void>;
}

export class PulledStream<Piece> extends ReadableStream<Piece> {
	readonly #source: Source<Piece>;
	#onFailure: ((failure: unknown) => void) | undefined;

	constructor(source: Source<Piece>) {
		let output: ReadableStreamDefaultController<Piece>;
		const failed = (failure: unknown): never => this.#fail(failure);
		const enqueue = (piece: Piece | undefined) => {
			if (piece === undefined) output.close();
			else output.enqueue(piece);
		};
		super(
			{
				start(controller) {
					output = controller;
				},
				pull: () => source.pull().then(enqueue, failed),
				cancel: (reason) => source.cancel(reason),
			},
			{ highWaterMark: 0 },
		);
		this.#source = source;
	}

	/** Of an answer: the runtime reads it. A failure ends the caller's connection, and `report` is called instead of an uncaught exception. */
	static reportFailure<Item>(stream: ReadableStream<Item> | null, report: (failure: unknown) => void): void {
		if (stream instanceof PulledStream) stream.#onFailure = report;
	}

	#fail(failure: unknown): never {
		if (!this.#onFailure || isLostConnection(failure)) throw failure;
		this.#onFailure(failure);
		throw brokenOff(failure);
	}

	/** The same pieces of a stream that the runtime made. */
	static of<Item>(stream: ReadableStream<Item>): PulledStream<Item> {
		return stream instanceof PulledStream ? stream : new PulledStream(PulledStream.sourceOf(stream));
	}

	/** Locks any stream and returns its source. For a {@link PulledStream} that is the original source. */
	static sourceOf<Item>(stream: ReadableStream<Item>): Source<Item> {
		const reader = stream.getReader();
		if (stream instanceof PulledStream) return stream.#source;
		return {
			async pull() {
				const { done, value } = await reader.read();
				return done ? undefined : value;
			},
			cancel: (reason) => reader.cancel(reason),
		};
	}
}
