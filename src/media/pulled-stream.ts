/**
 * A stream that is made piece by piece as it is asked for. Each stage of a stream that is a `ReadableStream` costs two
 * calls into the runtime for each piece; whoever takes such a stream over pulls its source instead.
 *
 * Between a source and the stream's reader, stages answer by `then` with functions that they keep: an `async` function
 * leaves some 280 bytes to collect for each piece, and each collection is a pause of all streams.
 */

/** For one reader, who asks for a piece when it has the one before. */
export interface Source<Piece> {
	/** `undefined`: the end. Rejects where the stream errors. */
	pull(): Promise<Piece | undefined>;
	/** Nobody asks any more. A pull that is under way may still settle; nobody looks at it. */
	cancel(reason: unknown): Promise<void>;
}

export class PulledStream<Piece> extends ReadableStream<Piece> {
	readonly #source: Source<Piece>;

	constructor(source: Source<Piece>) {
		let to: ReadableStreamDefaultController<Piece>;
		const give = (piece: Piece | undefined) => {
			if (piece === undefined) to.close();
			else to.enqueue(piece);
		};
		super(
			{
				start(controller) {
					to = controller;
				},
				pull: () => source.pull().then(give),
				cancel: (reason) => source.cancel(reason),
			},
			{ highWaterMark: 0 },
		);
		this.#source = source;
	}

	/** Takes the stream over, of whatever kind it is: it is locked. */
	static sourceOf<Taken>(stream: ReadableStream<Taken>): Source<Taken> {
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
