/** Schemas of the answers of the routes for files and batches, which have no envelope, and for adapters. For the OpenAPI document. */
import * as z from "zod";
import { enveloped, Instant, json, Page } from "../answers.ts";

const Seconds = z.int();
const File = z.object({
	id: z.string(),
	object: z.literal("file"),
	bytes: z.int(),
	created_at: Seconds,
	expires_at: Seconds.nullable(),
	filename: z.string(),
	purpose: z.string(),
	status: z.literal("processed"),
	status_details: z.null(),
});
export const fileAnswer = json(File);
export const filesAnswer = json(
	z.object({
		object: z.literal("list"),
		data: z.array(File),
		first_id: z.string().nullable(),
		last_id: z.string().nullable(),
		has_more: z.boolean(),
	}),
);

const Time = Seconds.nullable();
const Batch = z.object({
	id: z.string(),
	object: z.literal("batch"),
	endpoint: z.string(),
	model: z.string().nullable(),
	errors: z
		.object({
			object: z.literal("list"),
			data: z.array(
				z.object({
					code: z.string(),
					message: z.string(),
					line: z.int().nullable(),
					param: z.string().nullable(),
				}),
			),
		})
		.nullable(),
	input_file_id: z.string().nullable(),
	completion_window: z.string(),
	status: z.enum([
		"validating",
		"failed",
		"in_progress",
		"finalizing",
		"completed",
		"expired",
		"cancelling",
		"cancelled",
	]),
	output_file_id: z.string().nullable(),
	error_file_id: z.string().nullable(),
	created_at: Seconds,
	in_progress_at: Time,
	expires_at: Time,
	finalizing_at: Time,
	completed_at: Time,
	failed_at: Time,
	expired_at: Time,
	cancelling_at: Time,
	cancelled_at: Time,
	request_counts: z.object({ total: z.int(), completed: z.int(), failed: z.int() }),
	metadata: z.record(z.string(), z.string()).nullable(),
	waiting: z.object({ code: z.int(), message: z.string(), until: Seconds }).optional(),
});
export const batchAnswer = json(Batch);
export const batchesAnswer = json(
	z.object({
		object: z.literal("list"),
		data: z.array(Batch),
		first_id: z.string().nullable(),
		last_id: z.string().nullable(),
		has_more: z.boolean(),
	}),
);

const MessageBatch = z.object({
	id: z.string(),
	type: z.literal("message_batch"),
	processing_status: z.enum(["in_progress", "canceling", "ended"]),
	request_counts: z.object({
		processing: z.int(),
		succeeded: z.int(),
		errored: z.int(),
		canceled: z.int(),
		expired: z.int(),
	}),
	created_at: Instant,
	expires_at: Instant,
	ended_at: Instant.nullable(),
	cancel_initiated_at: Instant.nullable(),
	archived_at: z.null(),
	results_url: z.url().nullable(),
	waiting: z.object({ code: z.int(), message: z.string(), until: Instant }).optional(),
});
export const messageBatchAnswer = json(MessageBatch);
export const messageBatchesAnswer = json(
	z.object({
		data: z.array(MessageBatch),
		first_id: z.string().nullable(),
		last_id: z.string().nullable(),
		has_more: z.boolean(),
	}),
);
export const messageBatchDeletionAnswer = json(
	z.object({ id: z.string(), type: z.literal("message_batch_deleted") }),
);

const GeminiBatch = z.object({
	name: z.string(),
	metadata: z.looseObject({
		"@type": z.string(),
		name: z.string(),
		model: z.string(),
		displayName: z.string(),
		state: z.string(),
		createTime: Instant,
		updateTime: Instant,
		endTime: Instant.optional(),
	}),
	done: z.boolean(),
	response: z.looseObject({}).optional(),
	error: z.object({ code: z.int(), message: z.string() }).optional(),
});
export const geminiBatchAnswer = json(GeminiBatch);
/** Of a deletion or a cancellation. */
export const geminiEmptyAnswer = json(z.object({}));
export const geminiBatchesAnswer = json(
	z.object({ operations: z.array(GeminiBatch), nextPageToken: z.string().optional() }),
);

const Replay = z.object({
	id: z.string(),
	gateway: z.string(),
	model: z.string(),
	judge: z.string().nullable(),
	status: z.enum(["in_progress", "finalizing", "completed", "expired", "cancelling", "cancelled", "failed"]),
	logs: z.object({ total: z.int(), completed: z.int(), failed: z.int() }),
	created_at: Instant,
	ended_at: Instant.nullable(),
	usage: z.object({
		input_tokens: z.int(),
		output_tokens: z.int(),
		neurons: z.number(),
		neurons_without_discount: z.number(),
	}),
	waiting: z.object({ code: z.int(), message: z.string(), until: Instant }).optional(),
});
export const replayAnswer = enveloped(Replay);
export const replaysAnswer = enveloped(z.array(Replay));
export const replayDeletionAnswer = enveloped(z.object({ id: z.string() }));
const Compared = z.object({
	provider: z.string(),
	model: z.string(),
	status: z.int(),
	text: z.string(),
	text_complete: z.boolean(),
	tool_calls: z.array(z.object({ name: z.string(), arguments: z.string() })).optional(),
	tokens_in: z.number().nullable(),
	tokens_out: z.number().nullable(),
	cost: z.number().nullable(),
	duration: z.number().nullable(),
});
const Comparison = z.object({
	log: z.string(),
	created_at: Instant,
	before: Compared.optional(),
	after: Compared.optional(),
	same: z.boolean().optional(),
	differences: z
		.array(
			z.object({
				path: z.string(),
				kind: z.enum(["added", "removed", "changed"]),
				before: z.string().optional(),
				after: z.string().optional(),
			}),
		)
		.optional(),
	differences_complete: z.boolean().optional(),
	judge: z
		.object({
			model: z.string(),
			score: z.number().min(0).max(1).optional(),
			reason: z.string().optional(),
			error: z.string().optional(),
			tokens_in: z.number().nullable(),
			tokens_out: z.number().nullable(),
			cost: z.number().nullable(),
		})
		.optional(),
	error: z.object({ code: z.int(), message: z.string() }).optional(),
});
export const replayResultsAnswer = enveloped(z.array(Comparison), Page);
export const shadowsAnswer = enveloped(
	z.array(
		z.object({
			name: z.string(),
			route: z.string().nullable(),
			backend: z.string().nullable(),
			model: z.string().nullable(),
			share: z.number(),
			answers: z.int(),
		}),
	),
);
export const shadowDeletionAnswer = enveloped(z.object({ name: z.string() }));

const FineTune = z.object({
	id: z.string(),
	model: z.string(),
	name: z.string(),
	description: z.string(),
	public: z.boolean(),
	created_at: Instant,
	modified_at: Instant,
});
const OwnFineTune = FineTune.extend({
	files: z.array(z.object({ name: z.string(), bytes: z.int() })),
	rank: z.int().optional(),
});
export const fineTuneAnswer = enveloped(OwnFineTune);
export const fineTunesAnswer = enveloped(z.array(OwnFineTune));
export const publicFineTunesAnswer = enveloped(z.array(FineTune));
export const fineTuneDeletionAnswer = enveloped(z.object({ id: z.string() }));
