/** The routes of the indexes themselves. */
import type { Context } from "hono";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { readStored } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { MAX_DIMENSIONS, MAX_INDEX_NAME_BYTES } from "../../retrieval/vectors/limits.ts";
import { VECTOR_METRICS, type VectorIndexRecord, type VectorShape } from "../../retrieval/vectors/records.ts";
import { BUILTIN } from "../../retrieval/vectors/stores/store-settings.ts";
import { answer } from "../answer.ts";
import type { AppCall, AppRouteDeclaration } from "../route.ts";

/** developers.cloudflare.com/vectorize/reference/client-api: the shapes of embedding models. All have the metric cosine. */
const PRESETS = {
	"@cf/baai/bge-small-en-v1.5": 384,
	"@cf/baai/bge-base-en-v1.5": 768,
	"@cf/baai/bge-large-en-v1.5": 1_024,
	"openai/text-embedding-ada-002": 1_536,
	"cohere/embed-multilingual-v2.0": 768,
} as const;
type Preset = keyof typeof PRESETS;

const MAX_DESCRIPTION_CHARACTERS = 1_024;
const MAX_DELAY_MS = 600_000;

const IndexName = lazy(() =>
	z.string().regex(new RegExp(`^[A-Za-z0-9][\\w-]{0,${MAX_INDEX_NAME_BYTES - 1}}$`), {
		error: `expected up to ${MAX_INDEX_NAME_BYTES} letters, digits, "-" and "_", the first a letter or a digit`,
	}),
);

const NewVectorIndex = lazy(() =>
	z.object({
		name: IndexName(),
		description: z.string().max(MAX_DESCRIPTION_CHARACTERS).nullish(),
		config: z.union([
			z.object({ dimensions: z.int().min(1).max(MAX_DIMENSIONS), metric: z.enum(VECTOR_METRICS) }),
			z.object({ preset: z.enum(Object.keys(PRESETS) as [Preset, ...Preset[]]) }),
		]),
		delay_ms: z.int().min(0).max(MAX_DELAY_MS).optional(),
		store: z.string().optional(),
	}),
);

export const indexRoutes: readonly AppRouteDeclaration[] = [
	{
		method: "GET",
		permission: "vectorize-read",
		path: "",
		summary: "Lists the vector indexes",
		output: answer("vectorIndexesAnswer"),
		handler: listIndexes,
	},
	{
		method: "POST",
		permission: "vectorize-write",
		path: "",
		summary: "Creates a vector index",
		input: {
			type: "application/json",
			schema: NewVectorIndex,
			example: { name: "docs", config: { dimensions: 3, metric: "cosine" } },
		},
		status: 201,
		output: answer("vectorIndexAnswer"),
		handler: createIndex,
	},
	{
		method: "GET",
		permission: "vectorize-read",
		path: "/:index",
		summary: "Shows a vector index",
		output: answer("vectorIndexAnswer"),
		handler: async (c, { caller, services }) =>
			envelope(indexJson(await services.vectorIndexes.get(caller.account, pathParameter(c, "index")))),
	},
	{
		method: "DELETE",
		path: "/:index",
		summary: "Deletes a vector index",
		permission: "vectorize-write",
		output: answer("vectorDeletionAnswer"),
		handler: deleteIndex,
	},
];

async function listIndexes(_: Context, { caller, services }: AppCall): Promise<Response> {
	return envelope((await services.vectorIndexes.list(caller.account)).map(indexJson));
}

async function createIndex(c: Context, { caller, services }: AppCall): Promise<Response> {
	const stored = await readStored(NewVectorIndex(), c.req.raw, services);
	const { config, delay_ms: delayMs, description, name, store } = stored.fields;
	const record = await services.vectorIndexes.create(caller.account, {
		...shapeOf(config),
		...{ name, delayMs, store, description: description ?? undefined },
	});
	const created = stored.answer(indexJson(record));
	return new Response(created.body, { status: 201, headers: created.headers });
}

/** Without its index an instance of AI Search would answer by keywords only, without a message. */
async function deleteIndex(c: Context, { caller, services }: AppCall): Promise<Response> {
	const name = pathParameter(c, "index");
	const owner = await services.searchInstances.ofVectorIndex(caller.account, name);
	if (owner)
		throw new AiError(
			"invalidRequest",
			`the AI Search instance ${owner.id} of the namespace ${owner.namespace} has its vectors in this index: delete the instance`,
		);
	await services.vectorIndexes.delete(caller.account, name);
	return envelope(null);
}

const shapeOf = (config: VectorShape | { preset: Preset }): VectorShape =>
	"preset" in config ? { dimensions: PRESETS[config.preset], metric: "cosine" } : config;

const indexJson = ({
	createdAt,
	delayMs,
	description,
	dimensions,
	metric,
	modifiedAt,
	name,
	store,
}: VectorIndexRecord): object => ({
	name,
	...(description !== undefined && { description }),
	config: { dimensions, metric },
	created_on: new Date(createdAt).toISOString(),
	modified_on: new Date(modifiedAt).toISOString(),
	...(delayMs > 0 && { delay_ms: delayMs }),
	...(store !== BUILTIN && { store }),
});
