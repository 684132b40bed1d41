/**
 * The frames of a websocket that get an error. Such a frame costs its caller some bytes, and the gateway a log and most of a request, so a socket
 * with too many is closed. An HTTP request that is refused counts in the pace of its connection instead.
 */
import { Pace } from "./socket-pace.ts";

/** Frames at once, and in a second after that. */
const REFUSED = { burst: 100, perSecond: 10 };

export class RefusedFrames {
	readonly #pace = new Pace(REFUSED);
	readonly #now: () => number;

	constructor(now: () => number) {
		this.#now = now;
	}

	/** Counts one. Returns whether the socket has too many. */
	add(): boolean {
		this.#pace.count(1);
		return this.#pace.delayMs(this.#now()) > 0;
	}
}

/** The reason of the close frame. */
export const TOO_MANY_REFUSED = `more than ${REFUSED.burst} frames got an error`;
