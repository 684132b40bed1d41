/** The operations on the vectors of an index, as the binding and the REST routes have them. Results are the JSON of the product. */
import { ignoredNames } from "../../core/field-notes.ts";
import { isRecord } from "../../core/json.ts";
import type { CountedTitle } from "../../models/rates.ts";
import { limitsOf } from "../../pipeline/limits.ts";
import type { Caller } from "../../pipeline/request.ts";
import { MAX_BOUND_VECTORS, MAX_DELETE_IDS, MAX_GET_IDS } from "../../retrieval/vectors/limits.ts";
import { IDS_FIELDS, QUERY_FIELDS, readIds, readQuery } from "../../retrieval/vectors/read-query.ts";
import type { Mutation, StoredVector, VectorMatch } from "../../retrieval/vectors/records.ts";
import type { AppServices } from "../services.ts";
import { readVectorJson, withVectors } from "./upload.ts";

const QUERY: CountedTitle = "Vector Query";

export interface IndexCall {
	caller: Caller;
	/** The name of the index. */
	index: string;
	request: Request;
	services: AppServices;
	/** Receives a sentence for each field of the body that has no effect. Absent: the answer has no place for it. */
	notes?: string[];
}

/** The index with its store, for all but writes of vectors. */
export const openIndex = ({ caller, index, request, services }: IndexCall) =>
	services.vectorIndexes.open(caller.account, index, request.signal);

/** The body. `known`: its fields. The product ignores others. */
export async function readKnown(
	{ request, services, notes }: IndexCall,
	known: readonly string[],
): Promise<unknown> {
	const body = await readVectorJson(request, services);
	const names = isRecord(body) ? Object.keys(body).filter((name) => body[name] !== null) : [];
	const ignored = ignoredNames(names, known);
	notes?.push(...ignored);
	services.hint?.("Vectorize", ignored);
	return body;
}

export async function describeIndex(call: IndexCall): Promise<object> {
	const { index, store } = await openIndex(call);
	const { processedAt, processedMutation, vectorCount } = await store.info();
	return {
		dimensions: index.dimensions,
		vectorCount,
		processedUpToDatetime: processedAt === undefined ? null : new Date(processedAt).toISOString(),
		processedUpToMutation: processedMutation ?? null,
	};
}

export async function queryIndex(call: IndexCall): Promise<object> {
	const { index, store } = await openIndex(call);
	await countQuery(call.caller, call.services);
	const query = readQuery(await readKnown(call, QUERY_FIELDS), index.dimensions);
	const matches = (await store.query(query)).map(matchJson);
	return { count: matches.length, matches };
}

/** Throws 3021 beyond `LIMITS.requests_per_minute`. */
async function countQuery({ account, credential }: Caller, { ledgers, limits }: AppServices): Promise<void> {
	const { requestsPerMinute }: { requestsPerMinute: Partial<Record<string, number>> } = limitsOf(
		limits,
		account,
	);
	const perMinute = requestsPerMinute[QUERY];
	if (perMinute === undefined) return;
	const rates = [{ key: `task:${QUERY}`, perMinute }];
	await ledgers.of(account).verify(credential, "vectorize-read", { task: QUERY, rates });
}

export async function writeVectors(
	call: IndexCall,
	operation: "insert" | "upsert",
	{ maxVectors = MAX_BOUND_VECTORS, discardUnreadable = false } = {},
): Promise<object> {
	const {
		caller: { account },
		index: name,
		request,
		services,
	} = call;
	const { index, store } = await services.vectorIndexes.openToWrite(account, name, request.signal);
	const upload = { account, operation, dimensions: index.dimensions, maxVectors, discardUnreadable };
	return withVectors(
		request,
		upload,
		(batches) => mutate((id) => store.write({ id, operation, batches })),
		services,
	);
}

export async function getVectors(call: IndexCall): Promise<object> {
	const { store } = await openIndex(call);
	const ids = readIds(await readKnown(call, IDS_FIELDS), MAX_GET_IDS);
	return (await store.get(ids)).map(vectorJson);
}

export async function deleteVectors(call: IndexCall): Promise<object> {
	const { store } = await openIndex(call);
	const ids = readIds(await readKnown(call, IDS_FIELDS), MAX_DELETE_IDS);
	return mutate((id) => store.write({ id, operation: "delete", ids }));
}

/** The id of a mutation is a UUID of version 4, unless its store has another one. */
export const mutate = async (
	write: (id: Mutation["id"]) => Promise<string>,
): Promise<{ mutationId: string }> => ({ mutationId: await write(crypto.randomUUID()) });

const matchJson = ({ id, metadata, namespace, score, values }: VectorMatch): object => ({
	id,
	score,
	...(values && { values: [...values] }),
	...(namespace !== undefined && { namespace }),
	...(metadata !== undefined && { metadata: JSON.parse(metadata) }),
});

const vectorJson = ({ id, metadata, namespace, values }: StoredVector): object => ({
	id,
	values: [...values],
	...(namespace !== undefined && { namespace }),
	...(metadata !== undefined && { metadata: JSON.parse(metadata) }),
});
