/** Finds keys in what would be written to a file of a repository. */
import { Buffer } from "node:buffer";
import { isRecord, parseJson } from "../../src/core/json.ts";
import { contains, PROFILES } from "../../src/gateways/profiles/profiles.ts";

/** Shorter values are in ordinary texts. */
const SHORTEST_SECRET = 8;

const { api_key: API_KEY } = PROFILES;

/** Characters of base64 that may be bytes with a key. */
const BASE64 = /[\w+/-]{11,}={0,2}/g;
/** A whole text of base64, which may have lines. */
const LINES_OF_BASE64 = /^[\w+/\s-]{11,}={0,2}\s*$/;

/**
 * Whether a text of the value looks like a key, or has one of the secrets. The parts of a text in the events of a stream are joined. JSON
 * inside of a text is parsed, because there an escaped line break before a key looks like a letter. Bytes in base64 are texts, too.
 */
export function hasSecret(value: object, secrets: readonly string[]): boolean {
	const texts = new Map<string, string>();
	collect(value, "", texts);
	for (const text of [...texts.values()]) collectJson(text, texts);
	for (const text of [...texts.values()]) collectBytes(text, texts);
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

/** The bytes of base64 in a text, as characters, and the JSON that they are. */
function collectBytes(text: string, texts: Map<string, string>): void {
	const runs = LINES_OF_BASE64.test(text) ? [text] : [...text.matchAll(BASE64)].map(([run]) => run);
	for (const base64 of runs) {
		const bytes = Buffer.from(base64, "base64").toString("utf8");
		texts.set(`bytes${texts.size}`, bytes);
		collectJson(bytes, texts);
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
