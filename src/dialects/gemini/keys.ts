/** Names of fields in a protocol buffer's JSON: `lowerCamelCase`, and `snake_case`, which Google's API takes as well. */
import { isRecord } from "../../core/json.ts";

/** Objects with keys of the caller's own. */
const CALLERS_OWN = new Set([
	"args",
	"response",
	"parametersJsonSchema",
	"responseJsonSchema",
	"responseSchema",
	"parameters",
	"labels",
]);
const SCHEMAS = new Set(["responseSchema", "parameters"]);

const camel = (key: string): string =>
	key.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

export function camelKeys(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(camelKeys);
	if (!isRecord(value)) return value;
	return Object.fromEntries(
		Object.entries(value).map(([sent, inner]) => {
			const key = camel(sent);
			if (SCHEMAS.has(key)) return [key, schemaKeys(inner)];
			return [key, CALLERS_OWN.has(key) ? inner : camelKeys(inner)];
		}),
	);
}

/** Names of properties, and values, are the caller's own. */
function schemaKeys(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(schemaKeys);
	if (!isRecord(value)) return value;
	return Object.fromEntries(
		Object.entries(value).map(([sent, inner]) => {
			const key = camel(sent);
			if (key === "properties" && isRecord(inner))
				return [key, Object.fromEntries(Object.entries(inner).map(([name, own]) => [name, schemaKeys(own)]))];
			return [key, key === "items" || key === "anyOf" || key === "prefixItems" ? schemaKeys(inner) : inner];
		}),
	);
}
