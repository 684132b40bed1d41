/** Schemas of the answers of OpenAI's routes for stored objects, which have no envelope. For the OpenAPI document. */
import * as z from "zod";
import { json } from "../answers.ts";

const Seconds = z.int();
export const responseAnswer = json(
	z.object({
		id: z.string(),
		object: z.literal("response"),
		created_at: Seconds,
		status: z.enum(["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]),
		model: z.string(),
		output: z.array(z.object({ type: z.string() })),
	}),
);
export const deletedAnswer = json(z.object({ id: z.string(), object: z.string(), deleted: z.literal(true) }));
const StoredItem = z.object({ id: z.string(), type: z.string() });
export const itemAnswer = json(StoredItem);
export const itemsAnswer = json(
	z.object({
		object: z.literal("list"),
		data: z.array(StoredItem),
		first_id: z.string().nullable(),
		last_id: z.string().nullable(),
		has_more: z.boolean(),
	}),
);
export const conversationAnswer = json(
	z.object({
		id: z.string(),
		object: z.literal("conversation"),
		created_at: Seconds,
		metadata: z.record(z.string(), z.string()),
	}),
);
export const compactionAnswer = json(
	z.object({
		id: z.string(),
		object: z.literal("response.compaction"),
		created_at: Seconds,
		output: z.array(z.object({ id: z.string(), type: z.string() })),
	}),
);
