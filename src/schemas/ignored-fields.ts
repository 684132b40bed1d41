/**
 * Fields of a request that a schema ignores, at any depth: the product ignores unknown fields at some places, and there the answer tells
 * the caller in its `messages`.
 */
import * as z from "zod";
import { asQuestion } from "../core/did-you-mean.ts";
import { MAX_NOTES, unknownField } from "../core/field-notes.ts";
import { isRecord } from "../core/json.ts";
import { own } from "../core/own.ts";
import { objectIn, unwrapped } from "./explain.ts";

interface IgnoredOptions {
	/** The object as the answer shows it. A client that writes back what it has read makes no mistake. */
	shown?: unknown;
	path?: string;
	/** The whole is a loose object, and other code reads its unknown fields. Of these, only the names of fields further inside are ignored. */
	isLoose?: boolean;
}

interface IgnoredField {
	path: string;
	/** A sentence with the name or the place that is probably meant. */
	note: string;
}

/** At most 8. `null` is as absent. */
export function ignoredFieldsIn(
	schema: z.ZodType,
	sent: unknown,
	options: IgnoredOptions = {},
): IgnoredField[] {
	const fields: IgnoredField[] = [];
	for (const field of ignored(schema, sent, { path: "", ...options, top: schema }))
		if (fields.push(field) === MAX_NOTES) break;
	return fields;
}

export const ignoredIn = (...request: Parameters<typeof ignoredFieldsIn>): string[] =>
	ignoredFieldsIn(...request).map(({ note }) => note);

interface Place extends Omit<IgnoredOptions, "path"> {
	path: string;
	/** The schema of the whole. */
	top: unknown;
}

function* ignored(schema: unknown, sent: unknown, place: Place): Generator<IgnoredField, void> {
	const { isLoose = false, path, shown, top } = place;
	const list = unwrapped(schema);
	if (list instanceof z.ZodArray && Array.isArray(sent)) {
		for (const [index, item] of sent.entries())
			yield* ignored(list.element, item, { top, path: `${path}[${index}]` });
		return;
	}
	const object = objectIn(schema);
	if (!object || !isRecord(sent)) return;
	const { shape } = object;
	const inner = isLoose ? new Set(namesInside(shape)) : undefined;
	for (const [name, value] of Object.entries(sent)) {
		const at = path === "" ? name : `${path}.${name}`;
		const inShown = isRecord(shown) ? own(shown, name) : undefined;
		if (Object.hasOwn(shape, name)) yield* ignored(shape[name], value, { top, path: at, shown: inShown });
		else if (value !== null && inShown === undefined && (inner ? inner.has(name) : !object.def.catchall))
			yield { path: at, note: noteOf(name, at, Object.keys(shape), top) };
	}
}

function noteOf(name: string, path: string, known: readonly string[], top: unknown): string {
	const note = unknownField(name, known, { path, consequence: "ignored" });
	const places = note.endsWith("?") ? [] : [...placesOf(name, top, "")];
	return places.length > 0 ? note + asQuestion(...places) : note;
}

/** The names of the fields below those of a shape. */
function* namesInside(shape: Readonly<Record<string, unknown>>): Generator<string, void> {
	for (const schema of Object.values(shape)) {
		const inner = objectIn(schema)?.shape ?? {};
		yield* Object.keys(inner);
		yield* namesInside(inner);
	}
}

/** The paths of the fields with this name. */
function* placesOf(name: string, schema: unknown, path: string): Generator<string, void> {
	for (const [field, inner] of Object.entries(objectIn(schema)?.shape ?? {})) {
		const at = path === "" ? field : `${path}.${field}`;
		if (field === name) yield at;
		yield* placesOf(name, inner, at);
	}
}
