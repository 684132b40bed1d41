/** JSON mode: the format that a caller asks for, and the reply held to it. */
import { type Schema, type SchemaDraft, Validator } from "@cfworker/json-schema";
import { AiError } from "../../errors.ts";
import type { ResponseFormat } from "../../tasks/text-generation.ts";
import { invalidInput } from "./errors.ts";
import { isRecord } from "./tools.ts";

/** OpenAI's form wants a name, the native one has none. */
export const SCHEMA_NAME = "response";

/**
 * Native: `json_schema` is the schema itself. OpenAI's `{name, schema}` is taken too: no schema has both keys, and
 * callers move between the routes. Throws 8001.
 */
export function readResponseFormat(format: {
	type: "text" | "json_object" | "json_schema";
	json_schema?: unknown;
}): ResponseFormat | undefined {
	if (format.type === "text") return undefined;
	if (format.type === "json_object") return { type: "json_object" };
	const { json_schema: sent } = format;
	if (!isRecord(sent)) throw invalidInput("response_format.json_schema must be a JSON Schema");
	const { name, description, schema, strict } = sent;
	const isWrapped = typeof name === "string" && (isRecord(schema) || Object.keys(sent).every(isWrapperKey));
	if (!isWrapped) return jsonSchemaFormat(sent);
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

export const jsonSchemaFormat = (schema: Record<string, unknown>): ResponseFormat => ({
	type: "json_schema",
	json_schema: { name: SCHEMA_NAME, schema },
});

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
	if (!isRecord(schema)) return true;
	// A copy: the validator writes into the schema it is given.
	const copy = structuredClone(schema) as Schema;
	return new Validator(copy, draftOf(schema.$schema)).validate(document).valid;
}

const DRAFTS: readonly [part: string, draft: SchemaDraft][] = [
	["draft-04", "4"],
	["draft-06", "7"],
	["draft-07", "7"],
	["2019-09", "2019-09"],
];

const draftOf = (named: unknown): SchemaDraft =>
	DRAFTS.find(([part]) => typeof named === "string" && named.includes(part))?.[1] ?? "2020-12";
