/**
 * A text that is equal for equal values, whatever the order of their keys. Values are JSON, or bytes: a call over RPC may contain
 * them.
 */
import { createHash } from "node:crypto";
import { isRecord } from "../../core/json.ts";

/** A value that has no canonical text, such as a stream. */
class NotCanonical extends Error {}

/** `undefined` for a value that is neither JSON nor bytes. */
export function canonicalJson(value: unknown): string | undefined {
	try {
		return textOf(value);
	} catch (cause) {
		if (cause instanceof NotCanonical) return undefined;
		throw cause;
	}
}

function textOf(value: unknown): string {
	if (Array.isArray(value)) return `[${value.map((item) => textOf(item ?? null)).join(",")}]`;
	// Their hash, with a prefix that no JSON value has.
	if (value instanceof ArrayBuffer) return bytesText(new Uint8Array(value));
	if (ArrayBuffer.isView(value))
		return bytesText(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
	if (isRecord(value)) {
		const prototype: unknown = Object.getPrototypeOf(value);
		if (prototype !== Object.prototype && prototype !== null) throw new NotCanonical();
		const fields = Object.keys(value)
			.filter((name) => value[name] !== undefined)
			.sort()
			.map((name) => `${JSON.stringify(name)}:${textOf(value[name])}`);
		return `{${fields.join(",")}}`;
	}
	if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean")
		return JSON.stringify(value);
	throw new NotCanonical();
}

const bytesText = (bytes: Uint8Array): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
