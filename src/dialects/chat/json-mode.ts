/** JSON mode: reads the requested format and checks the reply against it. */
import { AiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { GuardedSchema, isTooLarge, type Longest } from "../../schemas/guarded-schema.ts";
import type { ResponseFormat } from "../../tasks/text-generation/types.ts";
import { invalidInput } from "../invalid-input.ts";

/** OpenAI's form requires a name; the native form has none. */
export const SCHEMA_NAME = "response";

/**
 * In the native form `json_schema` is the schema itself. OpenAI's `{name, schema}` is also accepted on the native route:
 * no JSON Schema has both keys. Throws 8001.
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

/** Throws 8001. `field` is the name of the schema in the request. */
export function jsonSchemaFormat(schema: Record<string, unknown>, field = "guided_json"): ResponseFormat {
	refuseTooLarge(schema, field);
	return { type: "json_schema", json_schema: { name: SCHEMA_NAME, schema } };
}

function refuseTooLarge(schema: unknown, field: string): void {
	if (isTooLarge(schema)) throw invalidInput(`${field} is too large or too deep`);
}

/**
 * Parses a reply. Throws 5024 if it is not JSON, is not an object although the format is `json_object`, does not match the
 * schema, or if the schema is unusable.
 */
export function parseJsonReply(text: string, format: Exclude<ResponseFormat, { type: "text" }>): unknown {
	let document: unknown;
	try {
		document = JSON.parse(text);
		if (format.type === "json_object" ? isRecord(document) : matches(document, format.json_schema.schema))
			return document;
	} catch (cause) {
		throw new AiError("jsonModeUnmet", undefined, { cause });
	}
	throw new AiError("jsonModeUnmet");
}

const matches = (document: unknown, schema: unknown): boolean =>
	!isRecord(schema) || new GuardedSchema(schema, longestIn(document)).accepts(document);

/** The longest text (property names included) and the longest array anywhere in a document. */
function longestIn(document: unknown): Longest {
	const longest = { characters: 0, items: 0 };
	const queue = [document];
	while (queue.length > 0) {
		const value = queue.pop();
		if (typeof value === "string") longest.characters = Math.max(longest.characters, value.length);
		if (typeof value !== "object" || value === null) continue;
		if (Array.isArray(value)) longest.items = Math.max(longest.items, value.length);
		else for (const key of Object.keys(value)) queue.push(key);
		for (const part of Object.values(value)) queue.push(part);
	}
	return longest;
}
