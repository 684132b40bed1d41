/**
 * The pace of what is sent to websockets. The runtime buffers frames for a slow reader, without a limit and without a way to know how many.
 * So a socket gets frames at a limited pace, and the answers behind it wait. The connection guard closes a socket whose caller does not
 * read. Both together bound the buffered bytes: those of a few seconds.
 */

/** Bytes that a socket gets at once, and in a second after that. */
const SOCKET = { burst: 4 * 1024 * 1024, perSecond: 1024 * 1024 };
/** All sockets of the process. */
const PROCESS = { burst: 32 * 1024 * 1024, perSecond: 16 * 1024 * 1024 };

interface PaceOptions {
	/** Bytes. */
	burst: number;
	perSecond: number;
}

export class Pace {
	readonly #options: PaceOptions;
	#allowed: number;
	#at: number | undefined;

	constructor(options: PaceOptions) {
		this.#options = options;
		this.#allowed = options.burst;
	}

	/** Counts bytes that are sent. Returns the milliseconds until the next ones may be sent. */
	send(bytes: number, now: number): number {
		const { burst, perSecond } = this.#options;
		const elapsedMs = Math.max(0, now - (this.#at ?? now));
		this.#at = now;
		this.#allowed = Math.min(burst, this.#allowed + (elapsedMs * perSecond) / 1_000) - bytes;
		return Math.max(0, (-this.#allowed * 1_000) / perSecond);
	}
}

const processPace = new Pace(PROCESS);

/** Sends frames. The result is a promise if the sender must wait before the next one. */
export function pacedSender(
	socket: Pick<WebSocket, "send">,
): (frame: string | Uint8Array) => Promise<void> | undefined {
	const pace = new Pace(SOCKET);
	return (frame) => {
		socket.send(frame);
		const at = Date.now();
		const delayMs = Math.max(pace.send(frame.length, at), processPace.send(frame.length, at));
		return delayMs > 0 ? scheduler.wait(delayMs) : undefined;
	};
}
