/**
 * Converts JSON Schemas to the subset that the API accepts as a grammar ("Structured outputs", "JSON Schema limitations"):
 * closed objects, no recursion, no bounds. The output is valid for the caller's schema except for the bounds, which are
 * added to the description.
 */
import { isRecord } from "../../core/json.ts";
import { own } from "../../core/own.ts";

type Schema = Record<string, unknown>;

const wordSet = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

const KEPT = wordSet("type enum const title description default required");
const MEANINGLESS = wordSet("$schema $id $comment examples deprecated readOnly writeOnly");
const BOUNDS = wordSet(`
	minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern maxItems uniqueItems
	minProperties maxProperties`);
const FORMATS = wordSet("date-time time date duration email hostname uri ipv4 ipv6 uuid");
const REFERENCE = /^#\/(\$defs|definitions)\/([^/]+)$/;

/** `undefined`: the schema cannot be converted. */
export function grammarOf(schema: unknown): Schema | undefined {
	if (!isRecord(schema) || schema.type !== "object" || isRecursive(schema)) return undefined;
	return convert(schema);
}

function convert(schema: unknown): Schema | undefined {
	if (!isRecord(schema)) return undefined;
	const result: Schema = {};
	const notes: string[] = [];
	for (const [key, value] of Object.entries(schema)) {
		if (MEANINGLESS.has(key)) continue;
		if (KEPT.has(key)) result[key] = value;
		else if (BOUNDS.has(key)) notes.push(`${key}: ${JSON.stringify(value)}`);
		else {
			const conversion = convertKeyword(key, value);
			if (!conversion) return undefined;
			if (conversion.note) notes.push(conversion.note);
			Object.assign(result, conversion.fields);
		}
	}
	if (admitsObjects(schema)) {
		// A closed object without properties would always be empty.
		if (!isRecord(schema.properties) || Object.keys(schema.properties).length === 0) return undefined;
		result.additionalProperties = false;
	}
	if (notes.length > 0)
		result.description = [schema.description, `(${notes.join(", ")})`].filter(Boolean).join(" ");
	return result;
}

const admitsObjects = ({ type, properties }: Schema): boolean =>
	type === "object" || (Array.isArray(type) && type.includes("object")) || properties !== undefined;

interface Conversion {
	fields?: Schema;
	/** Text for the description. */
	note?: string;
}

function convertKeyword(key: string, value: unknown): Conversion | undefined {
	switch (key) {
		case "properties":
		case "$defs":
		case "definitions":
			return wrap(key, convertProperties(value));
		case "items":
			return wrap(key, convert(value));
		case "anyOf":
		case "allOf":
			return wrap(key, convertAll(value));
		case "oneOf":
			return wrap("anyOf", convertAll(value));
		case "$ref":
			return typeof value === "string" && REFERENCE.test(value) ? { fields: { $ref: value } } : undefined;
		case "format":
			return fieldOrNote(key, value, FORMATS.has(String(value)));
		case "minItems":
			return fieldOrNote(key, value, value === 0 || value === 1);
		case "nullable":
			return value === false ? {} : undefined;
		case "additionalProperties":
			return typeof value === "boolean" ? {} : undefined;
		default:
			return undefined;
	}
}

const fieldOrNote = (key: string, value: unknown, isSupported: boolean): Conversion =>
	isSupported ? { fields: { [key]: value } } : { note: `${key}: ${String(value)}` };

const wrap = (key: string, value: unknown): Conversion | undefined =>
	value === undefined ? undefined : { fields: { [key]: value } };

function convertProperties(value: unknown): Schema | undefined {
	if (!isRecord(value)) return undefined;
	const properties = Object.entries(value).map(([name, schema]) => [name, convert(schema)] as const);
	return properties.every(([, schema]) => schema) ? Object.fromEntries(properties) : undefined;
}

function convertAll(value: unknown): Schema[] | undefined {
	if (!Array.isArray(value)) return undefined;
	const schemas = value.map(convert).filter((schema) => schema !== undefined);
	return schemas.length === value.length ? schemas : undefined;
}

/** Whether a definition refers to itself. */
function isRecursive(root: Schema): boolean {
	const visited = new Set<string>();
	const open = new Set<string>();
	const visit = (value: unknown): boolean => {
		if (Array.isArray(value)) return value.some(visit);
		if (!isRecord(value)) return false;
		return Object.entries(value).some(([key, inner]) => {
			// Definitions are visited where they are used.
			if (key === "$defs" || key === "definitions") return false;
			return key === "$ref" && typeof inner === "string" ? follow(inner) : visit(inner);
		});
	};
	const follow = (reference: string): boolean => {
		const [, group = "", name = ""] = REFERENCE.exec(reference) ?? [];
		const definitions = own(root, group);
		if (open.has(reference)) return true;
		if (visited.has(reference) || !isRecord(definitions)) return false;
		open.add(reference);
		const found = visit(own(definitions, name));
		open.delete(reference);
		visited.add(reference);
		return found;
	};
	return visit(root);
}
