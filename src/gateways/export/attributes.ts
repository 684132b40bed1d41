/** Parts of OTLP/JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding) that traces and metrics share. */

export type Value = string | number | boolean;
type AttributeValue =
	| { stringValue: string }
	| { intValue: string }
	| { doubleValue: number }
	| { boolValue: boolean };

export interface Attribute {
	key: string;
	value: AttributeValue;
}

/** A cost or a time has one type, also if it is a whole number. */
const FRACTIONS = /\.(?:cost|time_to_first_chunk)$/;
const SERVICE = "ganglion";
const NANOSECONDS = 1_000_000n;

export const SCOPE = { name: SERVICE };

export const attributesOf = (values: Record<string, Value | null | undefined>): Attribute[] =>
	Object.entries(values).flatMap(([key, value]) =>
		value === undefined || value === null ? [] : [{ key, value: attributeValue(key, value) }],
	);

function attributeValue(key: string, value: Value): AttributeValue {
	if (typeof value === "string") return { stringValue: value };
	if (typeof value === "boolean") return { boolValue: value };
	return Number.isSafeInteger(value) && !FRACTIONS.test(key)
		? { intValue: String(value) }
		: { doubleValue: value };
}

/** `milliseconds`: since the epoch. */
export const nanoseconds = (milliseconds: number): string =>
	String(BigInt(Math.floor(milliseconds)) * NANOSECONDS);

export const RESOURCE = { attributes: attributesOf({ "service.name": SERVICE }) };
