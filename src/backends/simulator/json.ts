/** JSON mode: placeholders for the schema of the format or of the prompt, or an object that says that it is simulated. */
import { AiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { isTooLarge } from "../../schemas/guarded-schema.ts";
import type { ChatInput } from "../../tasks/text-generation/types.ts";
import { SchemaDocument } from "./json-schema.ts";
import { placeholder } from "./placeholder.ts";
import { promptedSchema } from "./prompted-schema.ts";

/** The document as text. `literal`: text that the answer must repeat; it is the document if it is valid. */
export function jsonFor(input: ChatInput, reply: string, literal: string | undefined): string {
	const { response_format: format } = input;
	const schema = format?.type === "json_schema" ? format.json_schema.schema : undefined;
	if (schema === undefined) return withoutSchema(input, reply, literal);
	const document = new SchemaDocument(schema);
	if (literal !== undefined && isValid(literal, document)) return literal;
	const made = placeholder(document);
	if (!made) throw new AiError("jsonModeUnmet");
	return JSON.stringify(made.value);
}

/** A schema in the prompt is advice: one that cannot be met is ignored. */
function withoutSchema(input: ChatInput, reply: string, literal: string | undefined): string {
	if (literal !== undefined && isValid(literal, undefined)) return literal;
	const schema = promptedSchema(input);
	const made = schema && !isTooLarge(schema) ? placeholder(new SchemaDocument(schema)) : undefined;
	return JSON.stringify(isRecord(made?.value) ? made.value : { simulated: true, reply });
}

function isValid(text: string, document: SchemaDocument | undefined): boolean {
	try {
		const value: unknown = JSON.parse(text);
		return document ? document.accepts(value) : typeof value === "object" && value !== null;
	} catch {
		return false;
	}
}
