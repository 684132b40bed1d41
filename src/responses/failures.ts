/** Failures of stored responses, in the words that OpenAI's clients know. */
import { AiError } from "../core/errors.ts";
import { invalidInput } from "../dialects/invalid-input.ts";
import type { Found, Fullness, Missing, StoreBounds } from "./records.ts";

/** A longer id is truncated. */
const MAX_SHOWN_ID = 64;

const named = (kind: string, id: string): string =>
	`${kind} with id '${id.slice(0, MAX_SHOWN_ID)}' not found.`;

const absentFailure = ({ kind, id }: Missing): AiError =>
	new AiError("notFound", named(kind[0]?.toUpperCase() + kind.slice(1), id));

/** An object that a route names, or a page of its list. */
const routeFailure = (missing: Missing): AiError =>
	missing.tooLarge
		? invalidInput(
				"after: the list cannot be shown from here: it repeats the ids of all items that fit into a page",
			)
		: absentFailure(missing);

/** What a request refers to. */
export function referenceFailure(missing: Missing): AiError {
	const { id, kind, pending, tooLarge } = missing;
	if (tooLarge)
		return new AiError(
			"contextWindowExceeded",
			"The stored items before this request are too large to continue",
		);
	if (pending)
		return invalidInput(
			`previous_response_id: the response '${id.slice(0, MAX_SHOWN_ID)}' has not ended yet`,
		);
	if (kind === "response") return new AiError("previousResponseNotFound", named("Previous response", id));
	if (kind === "conversation") return absentFailure(missing);
	const hint = "Items are not persisted when `store` is set to false: send the item itself.";
	return new AiError("itemNotFound", `${named("Item", id)} ${hint}`);
}

export const fullFailure = (why: Fullness, { maxBytes, maxResponses }: StoreBounds): AiError =>
	new AiError(
		"responseStoreFull",
		`The account's stored responses have reached their limit of ${
			why === "bytes" ? `${maxBytes} bytes` : `${maxResponses} responses and conversations`
		}: delete some, or send "store": false.`,
	);

/** The value, or the failure of a route's object. */
export function foundOrThrow<Value>(found: Found<Value>, failure = routeFailure): Value {
	if (found.ok) return found.value;
	throw failure(found.missing);
}
