/** The metadata of vectors: its rules, and the values that a metadata index has. */
import { isRecord } from "../../core/json.ts";
import { own } from "../../core/own.ts";
import { metadataInvalid, metadataTooLarge } from "./failures.ts";
import { INDEXED_STRING_BYTES, MAX_METADATA_BYTES } from "./limits.ts";
import type { MetadataType } from "./records.ts";

const ENCODER = new TextEncoder();
const buffer = new Uint8Array(INDEXED_STRING_BYTES);

export const bytesOfText = (text: string): number => Buffer.byteLength(text);

/** The longest beginning with whole characters of at most 64 bytes. */
export function truncated(text: string): string {
	if (text.length * 3 <= INDEXED_STRING_BYTES) return text;
	const { read } = ENCODER.encodeInto(text, buffer);
	return text.slice(0, read);
}

/** The compact JSON. Throws 40015 and 40016. */
export function metadataJson(id: string, metadata: Record<string, unknown>): string {
	const json = JSON.stringify(metadata);
	const bytes = bytesOfText(json);
	if (bytes > MAX_METADATA_BYTES) throw metadataTooLarge(id, MAX_METADATA_BYTES, bytes);
	for (const key of Object.keys(metadata)) {
		const problem = problemOf(key);
		if (problem) throw metadataInvalid(id, problem);
	}
	return json;
}

function problemOf(key: string): string | undefined {
	if (key === "") return "a key is empty";
	if (key.startsWith("$")) return "a key starts with $";
	if (/[."]/.test(key)) return 'a key contains . or "';
	return undefined;
}

/** The value at a path that a metadata index of the type has. `undefined`: none. */
export function indexedValue(
	metadata: Record<string, unknown>,
	property: string,
	type: MetadataType,
): string | number | boolean | undefined {
	let value: unknown = metadata;
	for (const key of property.split(".")) {
		if (!isRecord(value) || !Object.hasOwn(value, key)) return undefined;
		value = value[key];
	}
	if (typeof value === "string") return type === "string" ? truncated(value) : undefined;
	if (typeof value === "number" || typeof value === "boolean")
		return typeof value === type ? value : undefined;
	return undefined;
}

/** `{a: {b: 1}}` of `a.b` and 1, for several properties. */
export function nested(values: readonly (readonly [property: string, value: unknown])[]): string | undefined {
	if (values.length === 0) return undefined;
	const result: Record<string, unknown> = {};
	for (const [property, value] of values) {
		const keys = property.split(".");
		const last = keys.pop() ?? property;
		let place = result;
		for (const key of keys) {
			const inner = own(place, key);
			const next = isRecord(inner) ? inner : {};
			Object.defineProperty(place, key, {
				value: next,
				enumerable: true,
				configurable: true,
				writable: true,
			});
			place = next;
		}
		Object.defineProperty(place, last, { value, enumerable: true, configurable: true, writable: true });
	}
	return JSON.stringify(result);
}
