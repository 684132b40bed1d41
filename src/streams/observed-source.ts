/** Shows a listener what passes from a source to its reader, and how it ends. */
import type { Source } from "./pulled-stream.ts";

export type StreamEnd =
	| { kind: "complete" }
	| { kind: "failed"; error: unknown }
	| { kind: "cancelled"; reason: unknown };

export interface StreamListener<Piece> {
	/** Returns what the reader gets. An exception is a failure of the stream. */
	pass(piece: Piece): Piece;
	/** Only the first call is the end. */
	end(end: StreamEnd): void;
}

export class ObservedSource<Piece> implements Source<Piece> {
	readonly #from: Source<Piece>;
	readonly #listener: StreamListener<Piece>;
	/** The result of a pull that is under way when the source is cancelled. It shows nothing about the end of the stream. */
	#cancelled: Promise<never> | undefined;

	constructor(from: Source<Piece>, listener: StreamListener<Piece>) {
		this.#from = from;
		this.#listener = listener;
	}

	pull(): Promise<Piece | undefined> {
		return this.#from.pull().then(this.#pass, this.#fail);
	}

	/** The reader ignores a pull that is under way. */
	cancel(reason: unknown): Promise<void> {
		return this.#cancel(reason, Promise.withResolvers<never>().promise);
	}

	/** Cancels a source whose reader does not know it. A pull that is under way rejects. */
	abandon(reason: unknown): void {
		const rejected = Promise.reject(reason);
		rejected.catch(() => {});
		this.#cancel(reason, rejected).catch(() => {});
	}

	#cancel(reason: unknown, pulled: Promise<never>): Promise<void> {
		this.#cancelled = pulled;
		this.#listener.end({ kind: "cancelled", reason });
		return this.#from.cancel(reason);
	}

	readonly #pass = (piece: Piece | undefined): Piece | undefined | Promise<never> => {
		if (this.#cancelled) return this.#cancelled;
		try {
			if (piece !== undefined) return this.#listener.pass(piece);
			this.#listener.end({ kind: "complete" });
			return undefined;
		} catch (error) {
			return this.#fail(error);
		}
	};

	readonly #fail = async (error: unknown): Promise<never> => {
		if (this.#cancelled) return this.#cancelled;
		this.#listener.end({ kind: "failed", error });
		throw error;
	};
}
