/** JSON mode: the format that a caller asks for, and the reply held to it. */
import { AiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { GuardedSchema, isTooLarge, type Longest } from "../../schemas/guarded-schema.ts";
import type { ResponseFormat } from "../../tasks/text-generation/types.ts";
import { invalidInput } from "./errors.ts";

/** OpenAI's form wants a name, the native one has none. */
export const SCHEMA_NAME = "response";

/**
 * Native: `json_schema` is the schema itself. OpenAI's `{name, schema}` is taken too: no schema has both keys, and
 * callers move between the routes. Throws 8001.
 */
export function readResponseFormat(format: {
	type: "text" | "json_object" | "json_schema";
	json_schema?: unknown;
	schema?: unknown;
}): ResponseFormat | undefined {
	if (format.type === "text") return undefined;
	// llama.cpp's form of a JSON Schema.
	if (format.type === "json_object" && isRecord(format.schema))
		return jsonSchemaFormat(format.schema, "response_format.schema");
	if (format.type === "json_object") return { type: "json_object" };
	const { json_schema: sent } = format;
	if (!isRecord(sent)) throw invalidInput("response_format.json_schema must be a JSON Schema");
	const { name, description, schema, strict } = sent;
	const isWrapped = typeof name === "string" && (isRecord(schema) || Object.keys(sent).every(isWrapperKey));
	if (!isWrapped) return jsonSchemaFormat(sent, "response_format.json_schema");
	refuseTooLarge(schema, "response_format.json_schema");
	return {
		type: "json_schema",
		json_schema: {
			name,
			...(typeof description === "string" && { description }),
			...(schema !== undefined && { schema }),
			...(typeof strict === "boolean" && { strict }),
		},
	};
}

const isWrapperKey = (key: string): boolean => ["name", "description", "strict"].includes(key);

/** Throws 8001; `field` is where the schema came from. */
export function jsonSchemaFormat(schema: Record<string, unknown>, field = "guided_json"): ResponseFormat {
	refuseTooLarge(schema, field);
	return { type: "json_schema", json_schema: { name: SCHEMA_NAME, schema } };
}

function refuseTooLarge(schema: unknown, field: string): void {
	if (isTooLarge(schema)) throw invalidInput(`${field} is too large or too deep`);
}

/**
 * The document that a reply is. Throws 5024 when it is not JSON, not an object where only "JSON" was asked for, or not
 * what the schema says; also when the schema itself cannot be used.
 */
export function parseJsonReply(text: string, format: Exclude<ResponseFormat, { type: "text" }>): unknown {
	let document: unknown;
	try {
		document = JSON.parse(text);
		if (format.type === "json_object" ? isRecord(document) : obeys(document, format.json_schema.schema))
			return document;
	} catch (cause) {
		throw new AiError("jsonModeUnmet", undefined, { cause });
	}
	throw new AiError("jsonModeUnmet");
}

function obeys(document: unknown, schema: unknown): boolean {
	return !isRecord(schema) || new GuardedSchema(schema, longestIn(document)).accepts(document);
}

/** Of what is anywhere in a document, names of properties included. */
function longestIn(document: unknown): Longest {
	const longest = { characters: 0, items: 0 };
	const left = [document];
	while (left.length > 0) {
		const value = left.pop();
		if (typeof value === "string") longest.characters = Math.max(longest.characters, value.length);
		if (typeof value !== "object" || value === null) continue;
		if (Array.isArray(value)) longest.items = Math.max(longest.items, value.length);
		else for (const key of Object.keys(value)) left.push(key);
		for (const part of Object.values(value)) left.push(part);
	}
	return longest;
}
