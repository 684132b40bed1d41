/** Reads and changes the text of a response's server-sent events. Only the few events that have to change are parsed. */
import { isRecord, parseJson } from "../core/json.ts";
import { decodeUtf8 } from "../media/utf8.ts";

/** Enough bytes for the name or type of an event, and for its number: writers put them first. */
const HEAD_BYTES = 256;
const TYPE = /^event: *([\w.]+)|"type" *: *"([\w.]+)"/;
const SEQUENCE = /"sequence_number" *: *(\d+)/;

const encoder = new TextEncoder();

/** The type of an event, such as `response.completed`. */
export function typeOf(event: Uint8Array): string | undefined {
	const [, name, type] = TYPE.exec(decodeUtf8(event.subarray(0, HEAD_BYTES))) ?? [];
	return name ?? type;
}

/** `sequence_number` of an event. */
export function sequenceOf(event: Uint8Array): number | undefined {
	const head = SEQUENCE.exec(decodeUtf8(event.subarray(0, HEAD_BYTES)));
	const found = head ?? SEQUENCE.exec(decodeUtf8(event));
	return found?.[1] === undefined ? undefined : Number(found[1]);
}

/** The data of an event. `undefined`: it is not a JSON object. */
export function dataOf(event: Uint8Array): Record<string, unknown> | undefined {
	const text = decodeUtf8(event)
		.split("\n")
		.filter((line) => line.startsWith("data:"))
		.map((line) => line.slice("data:".length))
		.join("\n");
	const data = parseJson(text);
	return isRecord(data) ? data : undefined;
}

export const eventOf = (data: Record<string, unknown>): Uint8Array =>
	encoder.encode(`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);

/** The same event with a higher number. */
export function renumbered(event: Uint8Array, added: number): Uint8Array {
	if (added === 0) return event;
	const text = decodeUtf8(event);
	return encoder.encode(
		text.replace(SEQUENCE, (_, number: string) => `"sequence_number":${Number(number) + added}`),
	);
}
