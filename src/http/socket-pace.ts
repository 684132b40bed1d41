/**
 * The pace of what is sent to websockets. The runtime buffers frames for a slow reader, without a limit and without a way to know how many.
 * So a socket gets frames at a limited pace, also those of answers that run in parallel: a frame waits until the frames before it are paid for. The
 * connection guard closes a socket whose caller does not read. Both together bound the buffered bytes: those of a few seconds.
 */
import { Allowance } from "../core/allowance.ts";

/** Bytes that a socket gets at once, and in a second after that. */
const SOCKET = { burst: 4 * 1024 * 1024, perSecond: 1024 * 1024 };
/** All sockets of the process. */
const PROCESS = { burst: 32 * 1024 * 1024, perSecond: 16 * 1024 * 1024 };

interface PaceContext {
	/** Of all sockets of the process. */
	shared: Allowance;
	now(): number;
	/** Resolves or rejects early if the signal fires. */
	wait(milliseconds: number, signal: AbortSignal): Promise<unknown>;
}

const OF_PROCESS: PaceContext = {
	shared: new Allowance(PROCESS),
	now: () => Date.now(),
	wait: (milliseconds, signal) => scheduler.wait(milliseconds, { signal }),
};

/** Sends frames in their order. The result is a promise if the frame waits: it resolves when the frame is sent, or `closed` has fired. */
export function pacedSender(
	socket: Pick<WebSocket, "send">,
	closed: AbortSignal,
	{ shared, now, wait } = OF_PROCESS,
): (frame: string | Uint8Array) => Promise<void> | undefined {
	const own = new Allowance(SOCKET);
	let latest: Promise<void> | undefined;
	const delayMs = (): number => {
		const at = now();
		return Math.max(own.delayMs(at), shared.delayMs(at));
	};
	const send = (frame: string | Uint8Array): void => {
		socket.send(frame);
		own.count(frame.length);
		shared.count(frame.length);
	};
	const sendLater = async (frame: string | Uint8Array, before: Promise<void> | undefined): Promise<void> => {
		await before;
		for (let ms = delayMs(); ms > 0 && !closed.aborted; ms = delayMs())
			await wait(ms, closed).catch(() => {});
		if (!closed.aborted) send(frame);
	};
	return (frame) => {
		if (closed.aborted) return undefined;
		if (!latest && delayMs() === 0) {
			send(frame);
			return undefined;
		}
		const sent = sendLater(frame, latest).finally(() => {
			if (latest === sent) latest = undefined;
		});
		latest = sent;
		return sent;
	};
}
