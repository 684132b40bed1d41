/** The fields of a Responses request that refer to stored objects. The dialect reads the others. */
import * as z from "zod";
import { isRecord } from "../core/json.ts";
import { lazy } from "../core/lazy.ts";
import { invalidInput } from "../dialects/invalid-input.ts";
import { validate } from "../dialects/validation/validation.ts";

const Stateful = lazy(() =>
	z.object({
		store: z.boolean().nullish(),
		background: z.boolean().nullish(),
		stream: z.boolean().nullish(),
		previous_response_id: z.string().nullish(),
		conversation: z.union([z.string(), z.object({ id: z.string() })]).nullish(),
	}),
);

export interface StatefulFields {
	/** Absent: true, as in OpenAI's API. */
	store: boolean;
	background: boolean;
	stream: boolean;
	previous?: string | undefined;
	conversation?: string | undefined;
}

const NAMES = ["store", "background", "stream", "previous_response_id", "conversation"] as const;

/** Throws 5006 for a field of another type, 8001 for fields that exclude one another. */
export function readStateful(fields: unknown): StatefulFields {
	if (!isRecord(fields) || NAMES.every((name) => fields[name] === undefined))
		return { store: true, background: false, stream: false };
	const read = validate(Stateful(), fields);
	const { previous_response_id: previous, conversation } = read;
	const [store, background] = [read.store ?? true, read.background ?? false];
	if (previous && conversation)
		throw invalidInput("previous_response_id: it cannot be used together with conversation");
	if (background && !store) throw invalidInput("background: it requires that store is true");
	return {
		...{ store, background, stream: read.stream ?? false },
		previous: previous || undefined,
		conversation: (typeof conversation === "string" ? conversation : conversation?.id) || undefined,
	};
}
