/**
 * The JSON Schema in the texts of a chat. Clients put it there if the format is only `json_object`: the AI SDK and Instructor write it
 * into the system message or into the question.
 */
import { isRecord, parseJson } from "../../core/json.ts";
import { type ChatInput, textOf } from "../../tasks/text-generation/types.ts";

/** Objects that are read in one text. */
const MAX_OBJECTS = 50;
/** Characters of a text that are read, the last ones. */
const MAX_TEXT = 100_000;

/** The last schema of the last message that has one. */
export function promptedSchema({ messages, prompt = "" }: ChatInput): Record<string, unknown> | undefined {
	for (const text of [...messages.map(({ content }) => textOf(content)), prompt].reverse()) {
		const found = objectsIn(text.slice(-MAX_TEXT)).map(schemaOf).findLast(Boolean);
		if (found) return found;
	}
	return undefined;
}

/** The schema itself, or one with a name and a description. */
function schemaOf(value: Record<string, unknown>): Record<string, unknown> | undefined {
	const { schema, json_schema, properties, $schema } = value;
	const inner = [schema, json_schema].find(isRecord);
	if (inner && !isRecord(properties)) return schemaOf(inner);
	return isRecord(properties) || typeof $schema === "string" ? value : undefined;
}

function objectsIn(text: string): Record<string, unknown>[] {
	const objects: Record<string, unknown>[] = [];
	let start = text.indexOf("{");
	for (let tried = 0; start >= 0 && tried < MAX_OBJECTS; tried++) {
		const end = endOfObject(text, start);
		const value = end === undefined ? undefined : parseJson(text.slice(start, end));
		if (isRecord(value)) objects.push(value);
		start = text.indexOf("{", isRecord(value) ? end : start + 1);
	}
	return objects;
}

const TOKEN = /["{}]/g;
const STRING = /"(?:[^"\\]|\\.)*"/y;

/** The place after the brace that closes the one at `start`. Braces in JSON texts do not count. */
function endOfObject(text: string, start: number): number | undefined {
	let depth = 0;
	let place = start;
	for (;;) {
		TOKEN.lastIndex = place;
		const token = TOKEN.exec(text);
		if (!token) return undefined;
		place = token.index + 1;
		if (token[0] === '"') {
			STRING.lastIndex = token.index;
			if (!STRING.test(text)) return undefined;
			place = STRING.lastIndex;
		} else depth += token[0] === "{" ? 1 : -1;
		if (depth === 0) return place;
	}
}
