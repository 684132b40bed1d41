/** Field names in JSON of protocol buffers: `lowerCamelCase`. Google's API also accepts `snake_case`. */
import { isRecord } from "../../core/json.ts";

/** Fields whose values have the caller's own keys. */
const CALLER_DEFINED = new Set([
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
			return [key, CALLER_DEFINED.has(key) ? inner : camelKeys(inner)];
		}),
	);
}

/** Property names and values are the caller's own and stay unchanged. */
function schemaKeys(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(schemaKeys);
	if (!isRecord(value)) return value;
	return Object.fromEntries(
		Object.entries(value).map(([sent, inner]) => {
			const key = camel(sent);
			if (key === "properties" && isRecord(inner))
				return [
					key,
					Object.fromEntries(Object.entries(inner).map(([name, property]) => [name, schemaKeys(property)])),
				];
			return [key, key === "items" || key === "anyOf" || key === "prefixItems" ? schemaKeys(inner) : inner];
		}),
	);
}
