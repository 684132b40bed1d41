/** The metadata of items: the fields by which they are filtered and boosted, and their values. */
import { isRecord } from "../../core/json.ts";
import { own } from "../../core/own.ts";
import type { MetadataIndex } from "../vectors/records.ts";
import { searchFailure } from "./failures.ts";
import { MAX_METADATA_BYTES } from "./limits.ts";
import type { CustomField, FieldType, IndexedMetadata } from "./records.ts";

/** Each item has them. `folder`: up to the last slash of the key, with it. `timestamp`: when it was uploaded. */
export const BUILT_IN: Readonly<Record<string, FieldType>> = {
	filename: "text",
	folder: "text",
	timestamp: "datetime",
};

const SECOND_MS = 1_000;

export const typeOfField = (field: string, custom: readonly CustomField[]): FieldType | undefined =>
	own(BUILT_IN, field) ?? custom.find(({ field_name }) => field_name === field)?.data_type;

/** The metadata indexes of the vectors. Times are seconds. */
export const metadataIndexes = (custom: readonly CustomField[]): MetadataIndex[] =>
	[
		...Object.entries(BUILT_IN),
		...custom.map(({ data_type, field_name }) => [field_name, data_type] as const),
	].map(([propertyName, type]) => ({ propertyName, indexType: INDEX_TYPES[type] }));

const INDEX_TYPES = { text: "string", number: "number", boolean: "boolean", datetime: "number" } as const;

export const folderOf = (key: string): string => key.slice(0, key.lastIndexOf("/") + 1);

/** Seconds of epoch milliseconds, or of an ISO time. */
export function secondsOf(value: unknown): number | undefined {
	const time = typeof value === "string" ? Date.parse(value) : value;
	return typeof time === "number" && Number.isFinite(time) ? Math.floor(time / SECOND_MS) : undefined;
}

/** The metadata of an upload. Names are lower case. Throws 7056. */
export function readMetadata(value: unknown): Record<string, string | number | boolean> {
	if (!isRecord(value)) throw searchFailure("searchMetadataInvalid", "expected an object");
	if (Buffer.byteLength(JSON.stringify(value)) > MAX_METADATA_BYTES)
		throw searchFailure("searchMetadataInvalid", `expected at most ${MAX_METADATA_BYTES} bytes`);
	const metadata: Record<string, string | number | boolean> = {};
	for (const [name, field] of Object.entries(value)) {
		const key = name.toLowerCase();
		if (!/^[a-z0-9_-]{1,64}$/.test(key))
			throw searchFailure(
				"searchMetadataInvalid",
				"a name has other characters than letters, digits, - and _",
			);
		if (Object.hasOwn(BUILT_IN, key)) throw searchFailure("searchMetadataInvalid", `${key} is reserved`);
		if (typeof field !== "string" && typeof field !== "number" && typeof field !== "boolean")
			throw searchFailure("searchMetadataInvalid", `${key}: expected a text, a number or a boolean`);
		metadata[key] = field;
	}
	return metadata;
}

/** The values that filters see. A value of another type than its field is left out. */
export function indexedMetadata(
	{ key, metadata, timestamp }: { key: string; metadata: Record<string, unknown>; timestamp: number },
	custom: readonly CustomField[],
): IndexedMetadata {
	const indexed: IndexedMetadata = {
		filename: key,
		folder: folderOf(key),
		timestamp: Math.floor(timestamp / SECOND_MS),
	};
	for (const { data_type, field_name } of custom) {
		const value = metadata[field_name];
		const seconds = data_type === "datetime" ? secondsOf(value) : undefined;
		if (seconds !== undefined) indexed[field_name] = seconds;
		else if (data_type === "text" && typeof value === "string") indexed[field_name] = value;
		else if (data_type === typeof value && (typeof value === "number" || typeof value === "boolean"))
			indexed[field_name] = value;
	}
	return indexed;
}
