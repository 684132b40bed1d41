/**
 * `models/schema`: a model's inputs and outputs as JSON Schema, from the schemas that the reader and the writer use.
 *
 * Difference from the product: no branch for `requests`: the asynchronous queue validates each request when it runs.
 */
import * as z from "zod";
import type { Model } from "../models/model.ts";
import { nativeDialect } from "./native.ts";

export function modelSchema(model: Model, strict = true): { input: object; output: object } {
	const { reader, writer } = nativeDialect(model);
	const output = typeof writer.schema === "function" ? writer.schema() : writer.schema;
	const input = z.toJSONSchema(reader.schema(model, strict), {
		io: "input",
		unrepresentable: "any",
		override: ({ jsonSchema }) => dropSafeIntegerBounds(jsonSchema),
	});
	return {
		input: reader.body?.as === "raw" ? orBytes(input, reader.body.field) : input,
		output:
			typeof output === "string"
				? { type: "string", contentType: output, format: "binary" }
				: { ...z.toJSONSchema(output, { unrepresentable: "any" }), contentType: "application/json" },
	};
}

/** zod limits every integer to the exact range of a double. The product's schemas have no such limits. */
function dropSafeIntegerBounds(schema: z.core.JSONSchema.BaseSchema): void {
	if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
	if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}

/** Adds the file itself as the body, as in the product's schemas. */
const orBytes = ({ $schema, ...fields }: { $schema?: string | undefined }, field: string): object => ({
	$schema,
	oneOf: [{ type: "string", format: "binary", description: `The bytes of '${field}', as the body` }, fields],
});
