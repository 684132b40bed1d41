/** JSON mode: placeholders for the schema, or an object that says that it is simulated. */
import { AiError } from "../../core/errors.ts";
import type { ResponseFormat } from "../../tasks/text-generation/types.ts";
import { SchemaDocument } from "./json-schema.ts";
import { placeholder } from "./placeholder.ts";

/** The document as text. `literal`: text that the answer must repeat; it is the document if it is valid. */
export function jsonFor(format: ResponseFormat, reply: string, literal: string | undefined): string {
	const schema = format.type === "json_schema" ? format.json_schema.schema : undefined;
	const document = schema === undefined ? undefined : new SchemaDocument(schema);
	if (literal !== undefined && isValid(literal, document)) return literal;
	if (!document) return JSON.stringify({ simulated: true, reply });
	const made = placeholder(document);
	if (!made) throw new AiError("jsonModeUnmet");
	return JSON.stringify(made.value);
}

function isValid(text: string, document: SchemaDocument | undefined): boolean {
	try {
		const value: unknown = JSON.parse(text);
		return document ? document.accepts(value) : typeof value === "object" && value !== null;
	} catch {
		return false;
	}
}
