/** The product's JSON of vectors, queries and failures, from and to the types of this room. */
import { AiError, type FailureKey } from "../../../../core/errors.ts";
import { FAILURES } from "../../../../core/failures.ts";
import { isRecord } from "../../../../core/json.ts";
import { bodyUnreadable, indexNotFound } from "../../failures.ts";
import type {
	FilterCondition,
	StoredVector,
	VectorBatch,
	VectorIndexInfo,
	VectorMatch,
	VectorQuery,
} from "../../records.ts";
import type { ExternalIndex } from "../external-store.ts";
import { storeFailed } from "../store-failed.ts";

/** The vectors of a batch as objects of the product. */
export function* hostedVectors({ records, values }: VectorBatch, dimensions: number): Generator<object> {
	for (const [at, { id, metadata, namespace }] of records.entries())
		yield {
			...{ id, values: [...values.subarray(at * dimensions, (at + 1) * dimensions)] },
			...(namespace !== undefined && { namespace }),
			...(metadata !== undefined && { metadata: JSON.parse(metadata) }),
		};
}

/** Without the vector. */
export function hostedOptions(query: VectorQuery) {
	const { filter, namespace, returnMetadata, returnValues, topK } = query;
	return {
		...{ topK, returnValues, returnMetadata },
		...(namespace !== undefined && { namespace }),
		...(filter.length > 0 && { filter: hostedFilter(filter) }),
	};
}

type HostedFilter = Record<string, Record<string, unknown>>;

/** Throws 40026 for conditions that the product's JSON cannot combine. */
function hostedFilter(filter: readonly FilterCondition[]): HostedFilter {
	const result: HostedFilter = {};
	for (const condition of filter) {
		const { operator, property } = condition;
		const own = result[property] ?? {};
		result[property] = own;
		if (operator in own)
			throw bodyUnreadable(`filter: ${property}: the store cannot combine two conditions ${operator}`);
		own[operator] = "values" in condition ? condition.values : condition.value;
	}
	return result;
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** `undefined`: no vector. */
export function storedVector(value: unknown): StoredVector | undefined {
	if (!isRecord(value) || typeof value.id !== "string" || !Array.isArray(value.values)) return undefined;
	return { ...recordOf(value.id, value), values: new Float32Array(value.values) };
}

/** `undefined`: no match. */
export function matchOf(value: unknown): VectorMatch | undefined {
	if (!isRecord(value) || typeof value.id !== "string" || typeof value.score !== "number") return undefined;
	return {
		...recordOf(value.id, value),
		score: value.score,
		...(Array.isArray(value.values) && { values: new Float32Array(value.values) }),
	};
}

function recordOf(id: string, { metadata, namespace }: Record<string, unknown>) {
	const space = textOf(namespace);
	return {
		id,
		...(space !== undefined && space !== "" && { namespace: space }),
		...(isRecord(metadata) && { metadata: JSON.stringify(metadata) }),
	};
}

/** The time is a text or, as the published types have it, a number. */
export function infoOf(value: unknown): VectorIndexInfo | undefined {
	if (!isRecord(value) || typeof value.vectorCount !== "number") return undefined;
	const { processedUpToDatetime: at, processedUpToMutation, vectorCount } = value;
	const processedAt = typeof at === "number" ? at : Date.parse(textOf(at) ?? "");
	const processedMutation = textOf(processedUpToMutation);
	return {
		vectorCount,
		...(Number.isFinite(processedAt) && processedMutation !== undefined && { processedAt }),
		...(processedMutation !== undefined && { processedMutation }),
	};
}

/** Failures of vectors that a caller can cause, by the product's codes. */
const BY_CODE = new Map(
	(Object.entries(FAILURES) as [FailureKey, { code: number }][])
		.filter(([, { code }]) => code >= 40_000 && code < 41_000)
		.map(([key, { code }]) => [code, key]),
);
const INDEX_NOT_FOUND = 3000;
const TOO_MANY_REQUESTS = 40_041;
const AUTHENTICATION = new Set([10_000, 10_001, 9109]);

/** A code of the product that this gateway has too has the product's text: it quotes ids and sizes, and no values or metadata. */
export function hostedFailure(
	code: number | undefined,
	text: string,
	{ index, name }: Pick<ExternalIndex, "index" | "name">,
): AiError {
	if (code === INDEX_NOT_FOUND) return indexNotFound(index.name);
	const key = code === undefined ? undefined : BY_CODE.get(code);
	if (key) return new AiError(key, text);
	if (code === TOO_MANY_REQUESTS) return storeFailed(name, "takes no more writes now: repeat it later");
	if (code !== undefined && AUTHENTICATION.has(code)) return storeFailed(name, "refuses the token");
	return storeFailed(name, `has refused the request${code === undefined ? "" : ` (code ${code})`}`);
}
