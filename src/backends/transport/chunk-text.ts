/** The text of events of OpenAI's chat streams, and the fields of their chunks. */
import { isAbsent, isRecord, parseLooseJson } from "../../core/json.ts";
import { isDone } from "../../streams/sse.ts";
import { isErrorBody } from "./error-body.ts";
import type { SentDelta } from "./progress.ts";

export const DATA = "data: ";
/** A field of an event with space before its name or before its colon, or in capitals. Clients ignore such fields. */
const ODD_FIELD = /^[ \t\uFEFF]*(data|event|id|retry|error)[ \t]*:/gim;

/** The text of events, with the names of their fields as clients read them. */
export const withUsualFields = (text: string): string =>
	text.replace(ODD_FIELD, (_, name: string) => `${name.toLowerCase()}:`);

const DATA_AGAIN = /^(?:data:\s*)+/i;

/**
 * The data of one event, without a name that is there twice. Engines that do not send a blank line after each event make one of several:
 * each line is JSON, or the mark of the end.
 */
export function dataLines(data: string): string[] {
	const text = data.replace(DATA_AGAIN, "");
	if (!text.includes("\n") || parseLooseJson(text) !== undefined) return [text];
	const lines = text.split("\n").map((line) => line.replace(DATA_AGAIN, "").trim());
	const filled = lines.filter((line) => line !== "");
	return filled.every((line) => isDone(line) || parseLooseJson(line) !== undefined) ? filled : [text];
}

/** The data of an event of one line, which begins with {@link DATA}. */
export function dataOf(line: string): string {
	const data = line.slice(DATA.length, -2);
	return data.startsWith("data:") ? (dataLines(data)[0] ?? "") : data;
}

/** No field of an event begins so. */
export const JSON_START = /^\s*[{[]/;
/** Between two events of one line. */
const SEPARATOR = `\n\n${DATA}`;

/** The fields that are read. */
export interface SentChunk {
	choices?: unknown;
	usage?: unknown;
	timings?: unknown;
	[field: string]: unknown;
}

const ALIVE = /^(?:null|""|"?(?:ping|heartbeat|keep-?alive)"?)$/i;

/** Events that keep a connection open: without data, or by their name or text. */
export const isKeepAlive = (name: string | undefined, data: string): boolean =>
	name === "ping" || data.trim() === "" || (name !== "error" && ALIVE.test(data.trim()));

/**
 * Parses the data of `count` events in one call. `undefined`: not every event is one line of JSON. (A stream whose
 * events are JSON only when joined by commas would pass; no engine sends one.)
 */
export function parseTogether(text: string, count: number): SentChunk[] | undefined {
	if (count === 0) return text === "" ? [] : undefined;
	if (!text.startsWith(DATA) || !text.endsWith("\n\n")) return undefined;
	const list = `[${text.slice(DATA.length, -2).replaceAll(SEPARATOR, ",")}]`;
	// A remaining line break is white space in JSON, but separates lines of an event.
	if (list.includes("\n") || list.includes("\r")) return undefined;
	try {
		const chunks = JSON.parse(list) as unknown[];
		return chunks.length === count && chunks.every(isRecord) ? chunks : undefined;
	} catch {
		return undefined;
	}
}

/** The fields that are read. `text`: `/completions` has it in place of `delta`. */
export interface SentChunkChoice {
	index?: unknown;
	finish_reason?: unknown;
	delta?: SentDelta | null;
	text?: unknown;
}

/** Fields of a delta that is one content. */
const CONTENT_FIELDS: readonly string[] = ["content", "role"];

/** The content of a chunk that has nothing else to read. `undefined` for any other chunk. */
export function onlyContentOf(chunk: unknown): unknown {
	if (!isRecord(chunk) || !isAbsent(chunk.usage) || !isAbsent(chunk.timings) || isErrorBody(chunk))
		return undefined;
	const [choice, ...others]: (SentChunkChoice | null)[] = Array.isArray(chunk.choices) ? chunk.choices : [];
	const delta = choice?.delta;
	if (!delta || choice.index !== 0 || choice.finish_reason || others.length > 0) return undefined;
	const isPlain = Object.entries(delta).every(
		([name, value]) => CONTENT_FIELDS.includes(name) || isAbsent(value),
	);
	return isPlain ? delta.content : undefined;
}
