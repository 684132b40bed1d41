/** The bodies of a request in its log. */
import { Buffer } from "node:buffer";
import { copied } from "../../core/copied.ts";
import { toAiError } from "../../core/errors.ts";
import { decodeUtf8, Utf8Pieces } from "../../media/utf8.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";
import type { StepBody } from "../request.ts";
import type { Payload } from "./log-row.ts";

/** Characters of a body that are kept in the log's object, and sent to collectors. */
export const MAX_PAYLOAD = 256 * 1024;
/** Characters of a body that are kept if a bucket stores the large ones. */
export const MAX_STORED_PAYLOAD = 4 * 1024 * 1024;
/** Characters of a body that a log shows. */
export const HEAD_CHARACTERS = 4_096;

/** `max`: characters. */
export const payloadOf = (text: string, max: number): Payload =>
	text.length <= max
		? { text, complete: true }
		: // A character outside the basic plane has two units. The text must not end between them.
			{ text: copied(text.slice(0, max).replace(/[\ud800-\udbff]$/, "")), complete: false };

/** `size`: bytes. `payload`: absent if it is not text, or not collected. */
export interface LoggedBody {
	size: number;
	payload?: Payload;
}

/**
 * The body of a step. `max`: characters that are kept; 0: the body is not collected. `undefined`: its size is unknown, because a body
 * that is not collected is not written as JSON.
 */
export function requestBody({ content }: StepBody, max: number): LoggedBody | undefined {
	if ("bytes" in content) {
		const { bytes } = content;
		return {
			size: bytes.length,
			...(max > 0 && { payload: payloadOf(decodeUtf8(bytes), max) }),
		};
	}
	if (max === 0) return undefined;
	const text = JSON.stringify(content.json) ?? "";
	return { size: Buffer.byteLength(text), payload: payloadOf(text, max) };
}

interface ResponseTap {
	body: ReadableStream<Uint8Array>;
	/** Until now. */
	read(): LoggedBody;
}

interface TapOptions {
	/** Characters of the body that are kept. 0: the body is not collected. */
	max: number;
	/** Once, before the first piece or the end. */
	begun(): void;
	/** Once. `failed`: the body broke off. */
	ended(outcome: "complete" | "cancelled" | "failed"): void;
}

/** Passes a body through, and collects its size and text. The reader decides the pace. */
export function tapped(body: ReadableStream<Uint8Array>, { max, begun, ended }: TapOptions): ResponseTap {
	const source = PulledStream.sourceOf(body);
	const pieces = new Utf8Pieces();
	let text = "";
	let size = 0;
	const keep = (piece: Uint8Array | undefined): Uint8Array | undefined => {
		begun();
		if (!piece) {
			text += pieces.end();
			ended("complete");
			return undefined;
		}
		size += piece.length;
		if (max > 0 && text.length <= max) text += pieces.decode(piece);
		return piece;
	};
	const fail = (error: unknown): never => {
		// The caller has left before the read of its body settled.
		ended(toAiError(error).key === "aborted" ? "cancelled" : "failed");
		throw error;
	};
	return {
		read: () => ({ size, ...(max > 0 && { payload: payloadOf(text, max) }) }),
		body: new PulledStream<Uint8Array>({
			pull: () => source.pull().then(keep, fail),
			// The pipeline reports the usage of a cancelled answer first.
			cancel: (reason) => source.cancel(reason).finally(() => ended("cancelled")),
		}),
	};
}
