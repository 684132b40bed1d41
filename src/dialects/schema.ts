/** `models/schema`: what a model takes and gives, as JSON Schema, from the schemas that really read and write. */
import * as z from "zod";
import type { Model } from "../models/model.ts";
import { nativeDialect } from "./index.ts";

interface ModelSchema {
	input: object;
	output: object;
}

export function modelSchema(model: Model): ModelSchema {
	const { reader, writer } = nativeDialect(model);
	return {
		input: z.toJSONSchema(reader.schema(model), { io: "input", unrepresentable: "any" }),
		output:
			typeof writer.schema === "string"
				? { type: "string", contentType: writer.schema, format: "binary" }
				: { ...z.toJSONSchema(writer.schema, { unrepresentable: "any" }), contentType: "application/json" },
	};
}
