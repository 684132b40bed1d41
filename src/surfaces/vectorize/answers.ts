/** Schemas of the answers of Vectorize's API, for the OpenAPI document. A test calls each operation and compares. */
import * as z from "zod";
import { MOVE_PHASES } from "../../retrieval/vectors/durable/move-table.ts";
import { METADATA_TYPES, VECTOR_METRICS } from "../../retrieval/vectors/records.ts";
import { Count, enveloped, Instant, Report } from "../answers.ts";

const Index = z.object({
	name: z.string(),
	description: z.string().optional(),
	config: z.object({ dimensions: Count, metric: z.enum(VECTOR_METRICS) }),
	created_on: Instant,
	modified_on: Instant,
	delay_ms: Count.optional(),
	store: z.string().optional(),
});
export const vectorIndexAnswer = enveloped(Index);
export const vectorIndexesAnswer = enveloped(z.array(Index));
export const vectorDeletionAnswer = enveloped(z.null());
export const vectorInfoAnswer = enveloped(
	z.object({
		dimensions: Count,
		vectorCount: Count,
		processedUpToDatetime: Instant.nullable(),
		processedUpToMutation: z.uuid().nullable(),
	}),
);
export const vectorMutationAnswer = enveloped(z.object({ mutationId: z.uuid() }));

const Values = z.array(z.number());
const Metadata = z.record(z.string(), z.unknown());
export const vectorMatchesAnswer = enveloped(
	z.object({
		count: Count,
		matches: z.array(
			z.object({
				id: z.string(),
				score: z.number(),
				values: Values.optional(),
				namespace: z.string().optional(),
				metadata: Metadata.optional(),
			}),
		),
	}),
);
export const vectorsAnswer = enveloped(
	z.array(
		z.object({
			id: z.string(),
			values: Values,
			namespace: z.string().optional(),
			metadata: Metadata.optional(),
		}),
	),
);
export const vectorPageAnswer = enveloped(
	z.object({
		count: Count,
		totalCount: Count,
		isTruncated: z.boolean(),
		nextCursor: z.string().nullable(),
		cursorExpirationTimestamp: Instant.nullable(),
		vectors: z.array(z.object({ id: z.string() })),
	}),
);
export const metadataIndexesAnswer = enveloped(
	z.object({
		metadataIndexes: z.array(z.object({ propertyName: z.string(), indexType: z.enum(METADATA_TYPES) })),
	}),
);
export const vectorMoveAnswer = enveloped(
	z.object({
		status: z.enum(MOVE_PHASES),
		store: z.string(),
		total: Count,
		copied: Count,
		error: z.string().optional(),
	}),
);

const VectorCounts = z.object({
	queries: Count,
	queried_dimensions: Count,
	/** The most of a day; over several days the average of the days. */
	stored_dimensions: z.number(),
	/** By `VECTORS.prices`. */
	usd: z.number(),
});
export const vectorUsageAnswer = enveloped(
	z.array(VectorCounts.extend({ day: z.string().optional(), index: z.string().optional() })),
	z.object({ ...Report, totals: VectorCounts }),
);
