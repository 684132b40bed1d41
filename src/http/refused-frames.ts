/**
 * The frames of a websocket that the gateway refuses by itself, before it calls an engine or a provider: they cannot be read, their token is not
 * valid, or their caller has no room. Such a frame costs its caller some bytes, and the gateway a log and most of a request, so a socket with too
 * many is closed. An HTTP request that is refused counts in the pace of its connection instead. What fails at an engine or a provider is not
 * counted: the caller cannot prevent it, and it would end the other requests of the socket.
 */
import type { AiError, FailureKey } from "../core/errors.ts";
import { Pace } from "./socket-pace.ts";

/** Frames at once, and in a second after that. */
const REFUSED = { burst: 100, perSecond: 10 };

/** The gateway refuses what a model has answered. */
const OF_ANSWERS: ReadonlySet<FailureKey> = new Set([
	"responseBlocked",
	"responseLeak",
	"runResponseBlocked",
]);
const SERVER_FAILURE = 500;

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

/** Whether the error of a frame is a refusal that {@link RefusedFrames} counts. */
export const isRefusedFrame = ({ exchange, failure, key, status, upstream }: AiError): boolean =>
	status < SERVER_FAILURE &&
	!failure.isAfterCall &&
	!OF_ANSWERS.has(key) &&
	!upstream &&
	!exchange?.isAdmitted;

/** The reason of the close frame. */
export const TOO_MANY_REFUSED = "too many frames were refused";
