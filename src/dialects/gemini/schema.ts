/** Converts Google's `Schema` (https://ai.google.dev/api/caching#Schema), a subset of OpenAPI's, to JSON Schema. */
import { isRecord } from "../../core/json.ts";
import { camel } from "./keys.ts";

/** Fields without a meaning in JSON Schema. */
const OMITTED = new Set(["example", "propertyOrdering", "nullable"]);
/** Numbers that are text in JSON of protocol buffers. */
const COUNTS = new Set(["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"]);

export function jsonSchemaOf(sent: Record<string, unknown>): Record<string, unknown> {
	const schema: Record<string, unknown> = {};
	for (const [sentKey, value] of Object.entries(sent)) {
		const key = camel(sentKey);
		if (OMITTED.has(key) || value === null) continue;
		if (key === "type" && typeof value === "string") {
			if (value !== "TYPE_UNSPECIFIED") schema.type = value.toLowerCase();
		} else if (key === "properties" && isRecord(value))
			schema.properties = Object.fromEntries(
				Object.entries(value).map(([name, inner]) => [name, converted(inner)]),
			);
		else if (key === "items") schema.items = converted(value);
		else if ((key === "anyOf" || key === "prefixItems") && Array.isArray(value))
			schema[key] = value.map(converted);
		// Google's own formats, such as "enum" and "int32", are dropped. JSON Schema's formats stay.
		else if (key === "format" && /^(enum|u?int(32|64)|float|double)$/.test(String(value))) continue;
		else schema[key] = COUNTS.has(key) ? Number(value) : value;
	}
	if (sent.nullable === true) {
		if (typeof schema.type === "string") schema.type = [schema.type, "null"];
		if (Array.isArray(schema.enum)) schema.enum = [...schema.enum, null];
	}
	return schema;
}

const converted = (value: unknown): unknown => (isRecord(value) ? jsonSchemaOf(value) : value);
