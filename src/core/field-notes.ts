/** `messages` of an answer: fields of a stored setting that have no effect. A client may write fields of a newer API. */
import { didYouMean } from "./did-you-mean.ts";
import { isRecord } from "./json.ts";

/** The product has no such code. */
const NOTE_CODE = 7001;

export interface FieldNote {
	code: number;
	message: string;
}

/** Fields whose value changes with each update, so a client that writes back what it has read sends an older one. */
const UPDATED = ["created_at", "modified_at"];

export const fieldNotes = (messages: readonly string[]): FieldNote[] =>
	messages.map((message) => ({ code: NOTE_CODE, message }));

/** `path`: of the field, such as `elements[0].timout`. `consequence`: what happens to the field. */
export const unknownField = (
	name: string,
	known: readonly string[],
	{ path = name, consequence }: { path?: string; consequence: string },
): string => `${path}: unknown, ${consequence}${didYouMean(name, known)}`;

/** Notes about one request: the search for the name that is meant has a cost. */
export const MAX_NOTES = 8;

/** A sentence for each name of a request that is not known, at most 8. */
export const ignoredNames = (names: readonly string[], known: readonly string[]): string[] =>
	names
		.filter((name) => !known.includes(name))
		.slice(0, MAX_NOTES)
		.map((name) => unknownField(name, known, { consequence: "ignored" }));

/**
 * The fields that an object was sent with and that are not stored. `known`: the fields that are read. `shown`: the stored object, as its
 * answer shows it. A field with the value that is shown is no mistake.
 */
export function ignoredFields(sent: unknown, known: readonly string[], shown: object): FieldNote[] {
	const stored = new Map(Object.entries(shown));
	const fields = Object.entries(isRecord(sent) ? sent : {}).filter(
		([name, value]) => value !== null && !known.includes(name) && !UPDATED.includes(name),
	);
	return fieldNotes(
		fields.flatMap(([name, value]) => {
			if (!stored.has(name)) return unknownField(name, known, { consequence: "ignored" });
			return JSON.stringify(stored.get(name)) === JSON.stringify(value)
				? []
				: `${name}: ignored, because this request cannot change it`;
		}),
	);
}
