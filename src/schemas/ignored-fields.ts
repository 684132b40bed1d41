/**
 * Fields of a request that a schema ignores, at any depth: the product ignores unknown fields at some places, and there the answer tells
 * the caller in its `messages`.
 */
import * as z from "zod";
import { asQuestion } from "../core/did-you-mean.ts";
import { MAX_NOTES, unknownField } from "../core/field-notes.ts";
import { isRecord } from "../core/json.ts";
import { objectIn, unwrapped } from "./explain.ts";

interface IgnoredOptions {
	/** The object as the answer shows it. A client that writes back what it has read makes no mistake. */
	shown?: unknown;
	path?: string;
}

/** A sentence for each such field, at most 8, with the name or the place that is probably meant. `null` is as absent. */
export function ignoredIn(schema: z.ZodType, sent: unknown, options: IgnoredOptions = {}): string[] {
	const notes: string[] = [];
	for (const note of ignored(schema, sent, { path: "", ...options, top: schema }))
		if (notes.push(note) === MAX_NOTES) break;
	return notes;
}

interface Place {
	path: string;
	shown?: unknown;
	/** The schema of the whole. */
	top: unknown;
}

function* ignored(schema: unknown, sent: unknown, place: Place): Generator<string, void> {
	const { path, shown, top } = place;
	const list = unwrapped(schema);
	if (list instanceof z.ZodArray && Array.isArray(sent)) {
		for (const [index, item] of sent.entries())
			yield* ignored(list.element, item, { top, path: `${path}[${index}]` });
		return;
	}
	const object = objectIn(schema);
	if (!object || !isRecord(sent)) return;
	const { shape } = object;
	for (const [name, value] of Object.entries(sent)) {
		const at = path === "" ? name : `${path}.${name}`;
		const inShown = isRecord(shown) && Object.hasOwn(shown, name) ? shown[name] : undefined;
		if (Object.hasOwn(shape, name)) yield* ignored(shape[name], value, { top, path: at, shown: inShown });
		else if (value !== null && inShown === undefined && object.def.catchall === undefined)
			yield ignoredField(name, at, Object.keys(shape), top);
	}
}

function ignoredField(name: string, path: string, known: readonly string[], top: unknown): string {
	const note = unknownField(name, known, { path, consequence: "ignored" });
	const places = note.endsWith("?") ? [] : [...placesOf(name, top, "")];
	return places.length > 0 ? note + asQuestion(...places) : note;
}

/** The paths of the fields with this name. */
function* placesOf(name: string, schema: unknown, path: string): Generator<string, void> {
	for (const [field, inner] of Object.entries(objectIn(schema)?.shape ?? {})) {
		const at = path === "" ? field : `${path}.${field}`;
		if (field === name) yield at;
		yield* placesOf(name, inner, at);
	}
}
