/** A file of recordings: calls of a binding with their answers, as JSON that a person can read and compare. */
import { isRecord, parseJson } from "../../src/core/json.ts";
import { canonicalJson } from "../../src/gateways/cache/canonical-json.ts";

/** What a call asks, without the fields that differ in each run. Two calls with the same JSON text are the same call. */
export interface Call {
	/** The test that makes it. Absent outside of tests. */
	test?: string | undefined;
	/** `run`, or the method and the path of another request, such as `POST /websearch`. */
	call: string;
	model?: string | undefined;
	input?: unknown;
	options?: unknown;
}

/** One event of a stream: its value if it is JSON on one line of data, else its text with all line ends. */
export type StreamEvent = { at: number; json: unknown } | { at: number; text: string };

/** One body: a JSON value, a text, bytes, or the events of a stream with their milliseconds since the call. */
export type Content = { json: unknown } | { text: string } | { base64: string } | { events: StreamEvent[] };

export type Answer = Content & {
	status: number;
	headers: Record<string, string>;
	/** The caller left the stream after these events. */
	isLeft?: true;
};

/** The answers of equal calls, in the order of the calls. */
export interface Recording extends Call {
	answers: Answer[];
}

const VERSION = 1;

/** Throws if the text is not a file of recordings of this version. The message continues a sentence that begins with the file. */
export function readRecordings(text: string): Recording[] {
	const file = parseJson(text);
	if (!isRecord(file) || !Array.isArray(file.recordings))
		throw new Error("is not a file of recordings: delete it, or restore it");
	if (file.version !== VERSION)
		throw new Error(
			`has version ${JSON.stringify(file.version)} of the format, and this version of ganglion reads ${VERSION}: record it again`,
		);
	if (!file.recordings.every(isRecording))
		throw new Error("has an entry that is not a recording: restore the file, or record it again");
	return file.recordings;
}

/** A person may have changed it. */
const isRecording = (value: unknown): value is Recording =>
	isRecord(value) &&
	typeof value.call === "string" &&
	[value.test, value.model].every((name) => name === undefined || typeof name === "string") &&
	Array.isArray(value.answers) &&
	value.answers.every(isAnswer);

const isAnswer = (value: unknown): boolean =>
	isRecord(value) &&
	typeof value.status === "number" &&
	isRecord(value.headers) &&
	("json" in value ||
		[value.text, value.base64].some((content) => typeof content === "string") ||
		(Array.isArray(value.events) &&
			value.events.every((event) => isRecord(event) && typeof event.at === "number")));

/** The text of a file. Its order depends only on the calls, so that recording again changes only the lines that are different. */
export function writeRecordings(byKey: ReadonlyMap<string, Recording>): string {
	const sorted = [...byKey]
		.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
		.map(([, recording]) => recording);
	return `${layout({ version: VERSION, recordings: sorted }, "")}\n`;
}

/** The same text for all recordings and calls of the same call. They consist of JSON, which always has a canonical text. */
export const keyOf = ({ test = "", call, model = "", input, options }: Call): string =>
	canonicalJson([test, call, model, input, options]) ?? "";

/** The longest value on one line, in characters. */
const LINE = 100;
const INDENT = "\t";

/** JSON with one line for each short value. Lists of numbers are always on one line. */
function layout(value: unknown, indent: string): string {
	const line = JSON.stringify(value);
	if (line.length <= LINE || typeof value !== "object" || value === null) return line;
	const isList = Array.isArray(value);
	if (isList && value.every((item) => typeof item === "number")) return line;
	const inner = indent + INDENT;
	const items = isList
		? value.map((item) => layout(item, inner))
		: Object.entries(value)
				.filter(([, field]) => field !== undefined)
				.map(([name, field]) => `${JSON.stringify(name)}: ${layout(field, inner)}`);
	const [open, close] = isList ? "[]" : "{}";
	return `${open}\n${inner}${items.join(`,\n${inner}`)}\n${indent}${close}`;
}
