import { BufferHold } from "../../core/process-counts.ts";
import { concat } from "../../media/bytes.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";
import type { GatewayRequest } from "../request.ts";

/** Larger answers are not scanned. */
export const MAX_SCANNED_BYTES = 24 * 1024 * 1024;

/**
 * The complete body. `undefined`: it is larger than `maxBytes`, and is cancelled. Throws if the body fails, and 3040 (429) if the process
 * buffers too much. The holder of `hold` releases it.
 */
export async function bufferedBody(
	response: Response,
	{ hold, maxBytes = MAX_SCANNED_BYTES }: { hold: BufferHold; maxBytes?: number },
): Promise<Uint8Array<ArrayBuffer> | undefined> {
	if (!response.body) return new Uint8Array();
	const pieces: Uint8Array[] = [];
	let size = 0;
	// Without a stage of its own for each piece.
	const source = PulledStream.sourceOf(response.body);
	try {
		for (let piece = await source.pull(); piece; piece = await source.pull()) {
			size += piece.length;
			if (size > maxBytes) {
				await source.cancel(undefined);
				return undefined;
			}
			hold.grow(piece.length);
			pieces.push(piece);
		}
	} catch (error) {
		source.cancel(error).catch(() => {});
		throw error;
	}
	return concat(pieces);
}

/**
 * Buffers an answer, checks it, and sends it. Its bytes count as buffered until they are sent or the caller leaves (`signal`). `check` throws if
 * the answer must not be sent. `undefined`: it is larger than what is scanned.
 */
export async function checkedResponse(
	response: Response,
	{ account, signal }: Pick<GatewayRequest, "account" | "signal">,
	check: (bytes: Uint8Array<ArrayBuffer>) => void | Promise<void>,
): Promise<Response | undefined> {
	const hold = new BufferHold(account).releaseOn(signal);
	try {
		const bytes = await bufferedBody(response, { hold });
		if (bytes) {
			await check(bytes);
			return new Response(
				sentOnce(bytes, () => hold.release()),
				response,
			);
		}
	} catch (error) {
		hold.release();
		throw error;
	}
	hold.release();
	return undefined;
}

/** `ended`: the bytes are sent, or have no reader. */
function sentOnce(bytes: Uint8Array, ended: () => void): ReadableStream<Uint8Array> {
	let isSent = bytes.length === 0;
	return new PulledStream<Uint8Array>({
		async pull() {
			if (isSent) ended();
			else {
				isSent = true;
				return bytes;
			}
			return undefined;
		},
		async cancel() {
			ended();
		},
	});
}
