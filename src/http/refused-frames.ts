/**
 * The frames of a websocket that the gateway refuses by itself, before it calls an engine or a provider: they cannot be read, their token is not
 * valid, or their caller has no room. Such a frame costs its caller some bytes, and the gateway a log and most of a request, so a socket with too
 * many is closed. An HTTP request that is refused counts in the pace of its connection instead. What fails at an engine or a provider is not
 * counted: the caller cannot prevent it, and it would end the other requests of the socket.
 */
import { Allowance } from "../core/allowance.ts";
import type { AiError, FailureKey } from "../core/errors.ts";
import { CLOSE } from "./close-codes.ts";
import type { OpenSocket } from "./open-socket.ts";

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
	readonly #allowance = new Allowance(REFUSED);
	readonly #now: () => number;
	readonly #close: OpenSocket["close"];

	/** `close`: of the socket. */
	constructor(now: () => number, close: OpenSocket["close"]) {
		this.#now = now;
		this.#close = close;
	}

	/** Counts one. Closes the socket if it has too many. Returns whether the caller may get its error. */
	add(): boolean {
		this.#allowance.count(1);
		if (this.#allowance.delayMs(this.#now()) === 0) return true;
		this.#close(CLOSE.tryAgainLater, "too many frames were refused");
		return false;
	}
}

/** Whether the error of a frame is a refusal that {@link RefusedFrames} counts. */
export const isRefusedFrame = ({ exchange, failure, key, status, upstream }: AiError): boolean =>
	status < SERVER_FAILURE &&
	!failure.isAfterCall &&
	!OF_ANSWERS.has(key) &&
	!upstream &&
	!exchange?.isAdmitted;
