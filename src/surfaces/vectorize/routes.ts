/**
 * Vectorize's REST API, version 2: `/client/v4/accounts/{account}/vectorize/v2/indexes`
 * (developers.cloudflare.com/api/resources/vectorize/subresources/indexes).
 *
 * Not in the product: `delay_ms` and `store` of a new index, and moves of indexes.
 */
import type { Context } from "hono";
import * as z from "zod";
import { fieldNotes } from "../../core/field-notes.ts";
import { isRecord } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { parseFields } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { bodyUnreadable } from "../../retrieval/vectors/failures.ts";
import { propertyProblem } from "../../retrieval/vectors/filter.ts";
import { DEFAULT_LISTED, MAX_LISTED, MAX_REST_VECTORS } from "../../retrieval/vectors/limits.ts";
import { METADATA_TYPES, type MetadataIndex } from "../../retrieval/vectors/records.ts";
import { expectedName } from "../../schemas/explain.ts";
import { misnamedIn } from "../../schemas/misnamed.ts";
import { answer } from "../answer.ts";
import { ACCOUNT, below } from "../bases.ts";
import { type AppRoute, type AppRouteDeclaration, defineRoutes } from "../route.ts";
import { indexRoutes } from "./index-routes.ts";
import { moveRoutes } from "./move-routes.ts";
import {
	deleteVectors,
	describeIndex,
	getVectors,
	type IndexCall,
	mutate,
	openIndex,
	queryIndex,
	readKnown,
	writeVectors,
} from "./operations.ts";

const WriteQuery = lazy(() =>
	z.object({ "unparsable-behavior": z.enum(["error", "discard"]).default("error") }),
);

const ListQuery = lazy(() =>
	z.object({
		count: z
			.string()
			.regex(/^[1-9]\d{0,3}$/, `expected a number from 1 to ${MAX_LISTED}`)
			.transform(Number)
			.pipe(z.number().max(MAX_LISTED))
			.default(DEFAULT_LISTED),
		cursor: z.string().optional(),
	}),
);

const NDJSON = "application/x-ndjson";
const JSON_INPUT = { type: "application/json" } as const;

const read = { method: "GET", permission: "vectorize-read" } as const;
const search = { method: "POST", permission: "vectorize-read" } as const;
const change = { method: "POST", permission: "vectorize-write" } as const;

const vectorRoutes: readonly AppRouteDeclaration[] = [
	{
		...read,
		path: "/:index/info",
		summary: "Counts the vectors of an index",
		output: answer("vectorInfoAnswer"),
		handler: enveloping(describeIndex),
	},
	...(["insert", "upsert"] as const).map(
		(operation): AppRouteDeclaration => ({
			...change,
			path: `/:index/${operation}`,
			summary: operation === "insert" ? "Inserts new vectors" : "Inserts or replaces vectors",
			query: WriteQuery,
			input: {
				type: NDJSON,
				example: `${JSON.stringify({ id: "a", values: [1, 0, 0], metadata: { page: 1 } })}\n`,
			},
			output: answer("vectorMutationAnswer"),
			handler: enveloping((call, c) => {
				const query = parseFields(WriteQuery(), c.req.query(), "query");
				const discardUnreadable = query["unparsable-behavior"] === "discard";
				return writeVectors(call, operation, { maxVectors: MAX_REST_VECTORS, discardUnreadable });
			}),
		}),
	),
	{
		...search,
		path: "/:index/query",
		summary: "Finds the vectors nearest to a vector",
		input: { ...JSON_INPUT, example: { vector: [1, 0, 0], topK: 5, returnMetadata: "all" } },
		output: answer("vectorMatchesAnswer"),
		handler: enveloping(queryIndex),
	},
	{
		...search,
		path: "/:index/get_by_ids",
		summary: "Shows vectors",
		input: { ...JSON_INPUT, example: { ids: ["a"] } },
		output: answer("vectorsAnswer"),
		handler: enveloping(getVectors),
	},
	{
		...change,
		path: "/:index/delete_by_ids",
		summary: "Deletes vectors",
		input: { ...JSON_INPUT, example: { ids: ["a"] } },
		output: answer("vectorMutationAnswer"),
		handler: enveloping(deleteVectors),
	},
	{
		...read,
		path: "/:index/list",
		summary: "Lists the ids of vectors",
		query: ListQuery,
		output: answer("vectorPageAnswer"),
		handler: enveloping(listVectors),
	},
	{
		...read,
		path: "/:index/metadata_index/list",
		summary: "Lists the metadata indexes",
		output: answer("metadataIndexesAnswer"),
		handler: enveloping(async (call) => {
			const { store } = await openIndex(call);
			return { metadataIndexes: await store.metadataIndexes() };
		}),
	},
	...(["create", "delete"] as const).map(
		(verb): AppRouteDeclaration => ({
			...change,
			path: `/:index/metadata_index/${verb}`,
			summary: verb === "create" ? "Creates a metadata index" : "Deletes a metadata index",
			input: {
				...JSON_INPUT,
				example: { propertyName: "url", ...(verb === "create" && { indexType: "string" }) },
			},
			output: answer("vectorMutationAnswer"),
			handler: enveloping((call) => changeMetadataIndex(call, `${verb}-metadata-index`)),
		}),
	),
];

export const vectorizeRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [below(ACCOUNT, "/vectorize/v2/indexes")], tag: "Vectorize" },
	[...indexRoutes, ...vectorRoutes, ...moveRoutes],
);

const nameIn = (c: Context): string => pathParameter(c, "index");

/** A handler that answers with the result of an operation. */
function enveloping(
	operation: (call: IndexCall, c: Context) => Promise<object>,
): AppRouteDeclaration["handler"] {
	return async (c, { caller, services }) => {
		const notes: string[] = [];
		const result = await operation({ caller, index: nameIn(c), request: c.req.raw, services, notes }, c);
		return envelope(result, { messages: fieldNotes(notes) });
	};
}

async function listVectors(call: IndexCall, c: Context): Promise<object> {
	const query = parseFields(ListQuery(), c.req.query(), "query");
	const { store } = await openIndex(call);
	const { ids, next, totalCount } = await store.list({
		count: query.count,
		...(query.cursor !== undefined && { cursor: query.cursor }),
	});
	return {
		count: ids.length,
		totalCount,
		isTruncated: next !== undefined,
		nextCursor: next?.cursor ?? null,
		cursorExpirationTimestamp: next ? new Date(next.expiresAt).toISOString() : null,
		vectors: ids.map((id) => ({ id })),
	};
}

async function changeMetadataIndex(
	call: IndexCall,
	operation: "create-metadata-index" | "delete-metadata-index",
): Promise<object> {
	const { store } = await openIndex(call);
	const index = metadataIndexOf(await readKnown(call, METADATA_INDEX_FIELDS), operation);
	return mutate((id) => store.write({ id, operation, index }));
}

const METADATA_INDEX_FIELDS = ["propertyName", "indexType"] as const;

/** A deletion needs no type. */
function metadataIndexOf(body: unknown, operation: string): MetadataIndex {
	const { indexType, propertyName } = isRecord(body) ? body : {};
	const misnamed = (name: string) => misnamedIn(body, name, METADATA_INDEX_FIELDS);
	if (typeof propertyName !== "string")
		throw bodyUnreadable("propertyName: expected a string", misnamed("propertyName"));
	const problem = propertyProblem(propertyName);
	if (problem) throw bodyUnreadable(`propertyName: ${problem}`);
	const type = METADATA_TYPES.find((name) => name === indexType);
	if (type) return { propertyName, indexType: type };
	if (operation === "delete-metadata-index") return { propertyName, indexType: "string" };
	throw bodyUnreadable(`indexType: ${expectedName(METADATA_TYPES, indexType)}`, misnamed("indexType"));
}
