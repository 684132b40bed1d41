/** Field names in JSON of protocol buffers: `lowerCamelCase`. Google's API also accepts `snake_case`. */
import { isRecord } from "../../core/json.ts";

/** Fields whose values have the caller's own keys, and schemas, which `schema.ts` reads. */
const CALLER_DEFINED = new Set([
	"args",
	"response",
	"parametersJsonSchema",
	"responseJsonSchema",
	"responseSchema",
	"parameters",
	"labels",
]);

/** `min_items` -> `minItems` */
export const camel = (key: string): string =>
	key.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

export function camelKeys(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(camelKeys);
	if (!isRecord(value)) return value;
	return Object.fromEntries(
		Object.entries(value).map(([sent, inner]) => {
			const key = camel(sent);
			return [key, CALLER_DEFINED.has(key) ? inner : camelKeys(inner)];
		}),
	);
}
