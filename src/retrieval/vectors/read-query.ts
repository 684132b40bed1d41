/** Reads the body of a query. Unknown fields are ignored, as by the product. */
import { isRecord } from "../../core/json.ts";
import { misnamedIn } from "../../schemas/misnamed.ts";
import {
	bodyUnreadable,
	detailedTopKTooLarge,
	idTooLong,
	namespaceTooLong,
	queryWidth,
	tooManyIds,
	topKTooLarge,
} from "./failures.ts";
import { readFilter } from "./filter.ts";
import { DEFAULT_TOP_K, MAX_DETAILED_TOP_K, MAX_ID_BYTES, MAX_NAMESPACE_BYTES, MAX_TOP_K } from "./limits.ts";
import { bytesOfText } from "./metadata.ts";
import { isNumbers } from "./read-vectors.ts";
import type { ReturnedMetadata, VectorQuery } from "./records.ts";

const RETURNED: readonly string[] = ["none", "indexed", "all"] satisfies ReturnedMetadata[];

/** Of the body of a query. */
export const QUERY_FIELDS = [
	"vector",
	"vectorId",
	"topK",
	"filter",
	"namespace",
	"returnValues",
	"returnMetadata",
] as const;

/** `null` is as absent, except for `returnMetadata`. */
export function readQuery(body: unknown, dimensions: number): VectorQuery {
	if (!isRecord(body)) throw bodyUnreadable("expected an object");
	const { filter, namespace, returnMetadata = "none", returnValues, topK } = body;
	// The hosted service has no booleans here, although the runtime's client sends false.
	if (typeof returnMetadata !== "string" || !RETURNED.includes(returnMetadata))
		throw bodyUnreadable('returnMetadata: expected value "none", "indexed" or "all"');
	const query: VectorQuery = {
		vector: searched(body, dimensions),
		topK: count(topK),
		...(text(namespace, "namespace") && { namespace: text(namespace, "namespace") }),
		filter: filter === undefined || filter === null ? [] : readFilter(filter),
		returnValues: flag(returnValues, "returnValues"),
		returnMetadata: returnMetadata as ReturnedMetadata,
	};
	requireTopK(query);
	const bytes = bytesOfText(query.namespace ?? "");
	if (bytes > MAX_NAMESPACE_BYTES) throw namespaceTooLong(MAX_NAMESPACE_BYTES, bytes);
	return query;
}

function searched(body: Record<string, unknown>, dimensions: number): VectorQuery["vector"] {
	const { vector, vectorId } = body;
	const id = text(vectorId, "vectorId");
	if (vector !== undefined && vector !== null) {
		if (id !== undefined) throw bodyUnreadable("expected vector or vectorId, and not both");
		if (!isNumbers(vector)) throw bodyUnreadable("vector: expected an array of numbers");
		if (vector.length !== dimensions) throw queryWidth(dimensions, vector.length);
		return new Float32Array(vector);
	}
	if (id === undefined) throw queryWidth(dimensions, 0, misnamedIn(body, "vector", QUERY_FIELDS));
	const bytes = bytesOfText(id);
	if (bytes > MAX_ID_BYTES) throw idTooLong(MAX_ID_BYTES, bytes);
	return id;
}

function requireTopK({ returnMetadata, returnValues, topK }: VectorQuery): void {
	if (topK > MAX_TOP_K) throw topKTooLarge(MAX_TOP_K, topK);
	if (topK > MAX_DETAILED_TOP_K && (returnValues || returnMetadata === "all"))
		throw detailedTopKTooLarge(MAX_DETAILED_TOP_K, topK, MAX_TOP_K);
}

function count(value: unknown): number {
	if (value === undefined || value === null) return DEFAULT_TOP_K;
	if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
	throw bodyUnreadable("topK: expected a positive integer");
}

function flag(value: unknown, field: string): boolean {
	if (value === undefined || value === null) return false;
	if (typeof value === "boolean") return value;
	throw bodyUnreadable(`${field}: expected a boolean`);
}

function text(value: unknown, field: string): string | undefined {
	if (value === undefined || value === null) return undefined;
	if (typeof value === "string" && value.isWellFormed()) return value;
	throw bodyUnreadable(`${field}: expected a string`);
}

export const IDS_FIELDS = ["ids"] as const;

/** The ids of a body `{ids}`. */
export function readIds(body: unknown, max: number): string[] {
	const ids = isRecord(body) ? body.ids : undefined;
	if (!Array.isArray(ids) || !ids.every((id) => typeof id === "string" && id.isWellFormed()))
		throw bodyUnreadable("ids: expected an array of strings", misnamedIn(body, "ids", IDS_FIELDS));
	if (ids.length > max) throw tooManyIds(max, ids.length);
	for (const id of ids) {
		const bytes = bytesOfText(id);
		if (bytes > MAX_ID_BYTES) throw idTooLong(MAX_ID_BYTES, bytes);
	}
	return ids;
}
