/** Finds keys in what would be written to a file of a repository. */
import { isRecord, parseJson } from "../../src/core/json.ts";
import { contains, PROFILES } from "../../src/gateways/profiles/profiles.ts";

/** Shorter values are in ordinary texts. */
const SHORTEST_SECRET = 8;

const { api_key: API_KEY } = PROFILES;

/**
 * Whether a text of the value looks like a key, or has one of the secrets. The parts of a text in the events of a stream are joined. JSON
 * inside of a text is parsed, because there an escaped line break before a key looks like a letter.
 */
export function hasSecret(value: object, secrets: readonly string[]): boolean {
	const texts = new Map<string, string>();
	collect(value, "", texts);
	for (const text of [...texts.values()]) collectJson(text, texts);
	const known = secrets.map((secret) => secret.trim()).filter(({ length }) => length >= SHORTEST_SECRET);
	return [...texts.values()].some(
		(text) =>
			(API_KEY !== undefined && contains(text, API_KEY)) || known.some((secret) => text.includes(secret)),
	);
}

/** The JSON that a text is or has in its lines of data. */
function collectJson(text: string, texts: Map<string, string>): void {
	const lines = text.matchAll(/^data: ?(.*)$/gm);
	for (const json of [text, ...[...lines].map(([, data = ""]) => data)]) {
		const value = parseJson(json);
		if (typeof value === "object" && value !== null) collect(value, "json", texts);
	}
}

/** `path`: of the value. All events of a stream have the same one. */
function collect(value: unknown, path: string, texts: Map<string, string>): void {
	if (typeof value === "string") texts.set(path, (texts.get(path) ?? "") + value);
	else if (Array.isArray(value)) {
		const isStream = path === ".events";
		for (const [at, item] of value.entries()) collect(item, isStream ? path : `${path}.${at}`, texts);
	} else if (isRecord(value))
		for (const [name, field] of Object.entries(value)) {
			collect(field, `${path}.${name}`, texts);
			texts.set(`${path}.${name}#`, name);
		}
}
