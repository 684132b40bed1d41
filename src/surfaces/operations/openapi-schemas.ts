/** JSON schemas of the OpenAPI document, made of the schemas that validate requests and answers. */
import * as z from "zod";
import type { Payload } from "../../http/route.ts";

export type Json = Record<string, unknown>;

export interface BodyContent {
	schema?: Json;
	example?: unknown;
}

const BY_MODEL_DESCRIPTION =
	"Depends on the model: GET /client/v4/accounts/{account}/ai/models/schema?model= shows its schema.";

/** Schemas of the document. A schema that several operations use is one component. */
export class Schemas {
	readonly components: Record<string, Json> = {};
	readonly #names = new Map<Payload["schema"], string>();

	content(name: string, { type, schema, example }: Payload): Record<string, BodyContent> {
		return { [type]: { schema: this.#schemaOf(name, schema), ...(example !== undefined && { example }) } };
	}

	#schemaOf(name: string, schema: Payload["schema"]): Json {
		if (schema === "by-model") return { description: BY_MODEL_DESCRIPTION };
		if (!schema) return {};
		const component = this.#names.get(schema) ?? name;
		if (!this.#names.has(schema)) {
			this.#names.set(schema, component);
			const pointer = `#/components/schemas/${component}`;
			// References of a schema are relative to its root.
			this.components[component] = JSON.parse(
				JSON.stringify(jsonSchema(typeof schema === "function" ? schema() : schema), (key, value) =>
					key === "$ref" && typeof value === "string" ? value.replace(/^#/, pointer) : value,
				),
			);
		}
		return { $ref: `#/components/schemas/${component}` };
	}
}

export function jsonSchema(schema: z.ZodType): Json {
	const { $schema: _, ...json } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Json;
	return json;
}
