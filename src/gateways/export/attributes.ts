/** Parts of OTLP/JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding) that traces and metrics share. */
import { own } from "../../core/own.ts";
import type { EndedRequest } from "../ended-request.ts";

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
/** Of a request that ended without one. */
export const NO_STATUS = 500;
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

export const modelOf = ({ end, step }: EndedRequest): string => end.model ?? step?.model ?? "";

/** The names of the conventions, and for other tasks their own names. */
const OPERATIONS: Readonly<Record<string, string>> = {
	"Text Generation": "chat",
	"Text Embeddings": "embeddings",
};

export function operationOf({ end: { modelType = "Text Generation" } }: EndedRequest): string {
	return own(OPERATIONS, modelType) ?? modelType.toLowerCase().replaceAll(/[^a-z]+/g, "_");
}

/** `undefined`: the request has succeeded. */
export function errorTypeOf({ end: { status = NO_STATUS }, failed }: EndedRequest): string | undefined {
	if (status >= 400) return String(status);
	return failed ? "interrupted" : undefined;
}
