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
	#isCancelled = false;

	constructor(from: Source<Piece>, listener: StreamListener<Piece>) {
		this.#from = from;
		this.#listener = listener;
	}

	pull(): Promise<Piece | undefined> {
		return this.#from.pull().then(this.#pass, this.#fail);
	}

	/** A pull that is under way never settles, because it shows nothing about the end of the stream. The reader ignores it. */
	cancel(reason: unknown): Promise<void> {
		this.#isCancelled = true;
		this.#listener.end({ kind: "cancelled", reason });
		return this.#from.cancel(reason);
	}

	readonly #pass = (piece: Piece | undefined): Piece | undefined | Promise<never> => {
		if (this.#isCancelled) return never();
		try {
			if (piece !== undefined) return this.#listener.pass(piece);
			this.#listener.end({ kind: "complete" });
			return undefined;
		} catch (error) {
			return this.#fail(error);
		}
	};

	readonly #fail = async (error: unknown): Promise<never> => {
		if (this.#isCancelled) return never();
		this.#listener.end({ kind: "failed", error });
		throw error;
	};
}

const never = (): Promise<never> => Promise.withResolvers<never>().promise;

/** A source that can be ended without its reader. The sources below need not settle the pull that is under way. */
export class AbandonableSource<Piece> extends ObservedSource<Piece> {
	/** Of the pull that is under way. */
	#reject: ((reason: unknown) => void) | undefined;
	#abandoned: { reason: unknown } | undefined;

	override pull(): Promise<Piece | undefined> {
		if (this.#abandoned) return Promise.reject(this.#abandoned.reason);
		const { promise, resolve, reject } = Promise.withResolvers<Piece | undefined>();
		this.#reject = reject;
		super.pull().then(resolve, reject);
		return promise;
	}

	/** Cancels the source, whose reader does not know it. The reader's pull, and each later one, rejects. */
	abandon(reason: unknown): void {
		this.#abandoned = { reason };
		this.#reject?.(reason);
		this.cancel(reason).catch(() => {});
	}
}
