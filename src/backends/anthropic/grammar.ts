/**
 * JSON Schemas in the subset that the API takes as a grammar ("Structured outputs", "JSON Schema limitations"): closed
 * objects, no recursion, no bounds. What the grammar writes is valid for the caller's schema but for the bounds, which
 * the model is told in the description instead.
 */

type Schema = Record<string, unknown>;

const KEPT = new Set(["type", "enum", "const", "title", "description", "default", "required"]);
const MEANINGLESS = new Set([
	"$schema",
	"$id",
	"$comment",
	"examples",
	"deprecated",
	"readOnly",
	"writeOnly",
]);
const BOUNDS = new Set([
	"minimum",
	"maximum",
	"exclusiveMinimum",
	"exclusiveMaximum",
	"multipleOf",
	"minLength",
	"maxLength",
	"pattern",
	"maxItems",
	"uniqueItems",
	"minProperties",
	"maxProperties",
]);
const FORMATS = new Set([
	"date-time",
	"time",
	"date",
	"duration",
	"email",
	"hostname",
	"uri",
	"ipv4",
	"ipv6",
	"uuid",
]);
const REFERENCE = /^#\/(\$defs|definitions)\/([^/]+)$/;

/** `undefined`: there is no such grammar. */
export function grammarOf(schema: unknown): Schema | undefined {
	if (!isSchema(schema) || schema.type !== "object" || isRecursive(schema)) return undefined;
	return fitted(schema);
}

const isSchema = (value: unknown): value is Schema =>
	typeof value === "object" && value !== null && !Array.isArray(value);

function fitted(schema: unknown): Schema | undefined {
	if (!isSchema(schema)) return undefined;
	const result: Schema = {};
	const told: string[] = [];
	for (const [key, value] of Object.entries(schema)) {
		if (MEANINGLESS.has(key)) continue;
		if (KEPT.has(key)) result[key] = value;
		else if (BOUNDS.has(key)) told.push(`${key}: ${JSON.stringify(value)}`);
		else {
			const written = rewritten(key, value);
			if (!written) return undefined;
			if (written.told) told.push(written.told);
			Object.assign(result, written.fields);
		}
	}
	if (admitsObjects(schema)) {
		// One of no fields could say nothing.
		if (!isSchema(schema.properties) || Object.keys(schema.properties).length === 0) return undefined;
		result.additionalProperties = false;
	}
	if (told.length > 0)
		result.description = [schema.description, `(${told.join(", ")})`].filter(Boolean).join(" ");
	return result;
}

const admitsObjects = ({ type, properties }: Schema): boolean =>
	type === "object" || (Array.isArray(type) && type.includes("object")) || properties !== undefined;

interface Written {
	fields?: Schema;
	told?: string;
}

function rewritten(key: string, value: unknown): Written | undefined {
	switch (key) {
		case "properties":
		case "$defs":
		case "definitions":
			return wrap(key, fittedEntries(value));
		case "items":
			return wrap(key, fitted(value));
		case "anyOf":
		case "allOf":
			return wrap(key, fittedAll(value));
		case "oneOf":
			return wrap("anyOf", fittedAll(value));
		case "$ref":
			return typeof value === "string" && REFERENCE.test(value) ? { fields: { $ref: value } } : undefined;
		case "format":
			return FORMATS.has(String(value))
				? { fields: { format: value } }
				: { told: `format: ${String(value)}` };
		case "minItems":
			return value === 0 || value === 1
				? { fields: { minItems: value } }
				: { told: `minItems: ${String(value)}` };
		case "nullable":
			return value === false ? {} : undefined;
		case "additionalProperties":
			return typeof value === "boolean" ? {} : undefined;
		default:
			return undefined;
	}
}

const wrap = (key: string, value: unknown): Written | undefined =>
	value === undefined ? undefined : { fields: { [key]: value } };

function fittedEntries(value: unknown): Schema | undefined {
	if (!isSchema(value)) return undefined;
	const entries = Object.entries(value).map(([name, schema]) => [name, fitted(schema)] as const);
	return entries.every(([, schema]) => schema) ? Object.fromEntries(entries) : undefined;
}

function fittedAll(value: unknown): Schema[] | undefined {
	if (!Array.isArray(value)) return undefined;
	const schemas = value.map(fitted).filter((schema) => schema !== undefined);
	return schemas.length === value.length ? schemas : undefined;
}

/** Whether a definition is used within itself. */
function isRecursive(root: Schema): boolean {
	const finished = new Set<string>();
	const open = new Set<string>();
	const visit = (value: unknown): boolean => {
		if (Array.isArray(value)) return value.some(visit);
		if (!isSchema(value)) return false;
		return Object.entries(value).some(([key, inner]) => {
			// Definitions are visited where they are used.
			if (key === "$defs" || key === "definitions") return false;
			return key === "$ref" && typeof inner === "string" ? follow(inner) : visit(inner);
		});
	};
	const follow = (reference: string): boolean => {
		const [, group = "", name = ""] = REFERENCE.exec(reference) ?? [];
		const definitions = root[group];
		if (open.has(reference)) return true;
		if (finished.has(reference) || !isSchema(definitions)) return false;
		open.add(reference);
		const found = visit(definitions[name]);
		open.delete(reference);
		finished.add(reference);
		return found;
	};
	return visit(root);
}
