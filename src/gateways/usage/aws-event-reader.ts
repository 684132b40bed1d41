/**
 * Reads the JSON in the messages of Bedrock's streams, `application/vnd.amazon.eventstream`
 * (smithy.io/2.0/aws/amazon-eventstream.html). `ConverseStream` has it in the payload; `InvokeModelWithResponseStream` has the model's own
 * events in base64 there. Checksums are not verified, because the caller does so.
 */
import { parseRecord } from "../../core/json.ts";
import { decodeBase64 } from "../../media/base64.ts";
import { concat } from "../../media/bytes.ts";
import type { Found, UsageReader } from "./usage-reader.ts";

/** The lengths of the message and of its headers, and their checksum. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
/** A larger message is skipped: no usage is so large. */
const MAX_MESSAGE = 64 * 1024;

export class AwsEventReader implements UsageReader {
	readonly #found: Found;
	readonly #decoder = new TextDecoder();
	/** The beginning of a message. */
	#held: Uint8Array = new Uint8Array();
	/** Bytes of a large message that follow. */
	#skipped = 0;

	constructor(found: Found) {
		this.#found = found;
	}

	push(piece: Uint8Array): void {
		let bytes = concat([this.#held, piece]);
		for (;;) {
			const skipped = Math.min(this.#skipped, bytes.length);
			this.#skipped -= skipped;
			bytes = bytes.subarray(skipped);
			if (bytes.length < PRELUDE_BYTES) break;
			const view = new DataView(bytes.buffer, bytes.byteOffset);
			const size = view.getUint32(0);
			const payloadAt = PRELUDE_BYTES + view.getUint32(4);
			// These bytes are no message: the rest of the answer is skipped.
			if (size < payloadAt + CHECKSUM_BYTES) this.#skipped = Number.POSITIVE_INFINITY;
			else if (size > MAX_MESSAGE) this.#skipped = size;
			else if (bytes.length < size) break;
			else {
				this.#readPayload(bytes.subarray(payloadAt, size - CHECKSUM_BYTES));
				bytes = bytes.subarray(size);
			}
		}
		this.#held = bytes;
	}

	end(): void {}

	#readPayload(payload: Uint8Array): void {
		const event = this.#recordIn(payload);
		const inner = typeof event?.bytes === "string" ? decodeBase64(event.bytes) : undefined;
		const found = inner ? this.#recordIn(inner) : event;
		if (found) this.#found(found);
	}

	#recordIn(bytes: Uint8Array): Record<string, unknown> | undefined {
		return parseRecord(this.#decoder.decode(bytes));
	}
}
