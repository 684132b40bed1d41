/**
 * Reads the JSON in the messages of Bedrock's streams, `application/vnd.amazon.eventstream`
 * (smithy.io/2.0/aws/amazon-eventstream.html). The payload of `ConverseStream` is JSON. That of `InvokeModelWithResponseStream` is JSON
 * with an event of the model in base64. Checksums are not verified, because the caller verifies them.
 */
import { parseRecord } from "../../core/json.ts";
import { decodeBase64 } from "../../media/base64.ts";
import { concat } from "../../media/bytes.ts";
import { decodeUtf8 } from "../../media/utf8.ts";

/** The lengths of the message and of its headers, and their checksum. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
/** Larger messages are skipped, because they have no usage. */
const MAX_MESSAGE_BYTES = 64 * 1024;

export class AwsEventReader {
	readonly #onPart: (part: Record<string, unknown>) => void;
	/** The beginning of a message. */
	#held: Uint8Array = new Uint8Array();
	/** Bytes of a large message that have not arrived yet. */
	#skipped = 0;

	constructor(onPart: (part: Record<string, unknown>) => void) {
		this.#onPart = onPart;
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
			// These bytes are not a message, so all further bytes are skipped.
			if (size < payloadAt + CHECKSUM_BYTES) this.#skipped = Number.POSITIVE_INFINITY;
			else if (size > MAX_MESSAGE_BYTES) this.#skipped = size;
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
		const part = inner ? this.#recordIn(inner) : event;
		if (part) this.#onPart(part);
	}

	#recordIn(bytes: Uint8Array): Record<string, unknown> | undefined {
		return parseRecord(decodeUtf8(bytes));
	}
}
