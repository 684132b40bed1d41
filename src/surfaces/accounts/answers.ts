/** Schemas of answers about accounts, for the OpenAPI document. */
import * as z from "zod";
import { Count, enveloped } from "../answers.ts";

export const deletionAnswer = enveloped(
	z.object({
		state: z.enum(["absent", "deleting", "present"]),
		deleted: z.record(z.string(), Count),
		waiting: z.array(z.string()),
		/** When the name of a deleted account can be used again. */
		free_at: z.string().optional(),
		error: z.string().optional(),
	}),
);
