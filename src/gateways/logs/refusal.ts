/**
 * Requests that the gateway refused by itself. Any caller can send thousands of them each second, so the log of a refusal takes at most
 * 1 KB of the disk: its texts are short, and its only content is the error, in the row.
 */
import { Buffer } from "node:buffer";
import { FAILURES, type FailureKey } from "../../core/errors.ts";
import { parseJson } from "../../core/json.ts";
import type { GatewayEnd } from "../exchange.ts";
import { metadataFields } from "./log-batch.ts";
import type { Log, LogRow, Payload } from "./log-row.ts";

/** The failure of a refused request. That of an earlier attempt is not that of a request that was answered. */
export const refusalOf = ({
	failure,
	status = 500,
}: Pick<GatewayEnd, "failure" | "status">): FailureKey | undefined =>
	failure !== undefined && status >= 400 && !FAILURES[failure].isAfterCall ? failure : undefined;

/** Bytes for the texts of a row, with their copies in indexes. A row without texts takes about 400. */
const TEXT_BYTES = 480;
/** UTF-8 has at most so many bytes for each character of JavaScript. */
const MAX_CHARACTER_BYTES = 3;
/** Each field of the metadata has a row of its own, and two indexes. */
const METADATA_FIELD_BYTES = 130;

interface RefusalText {
	name: keyof LogRow & ("provider" | "model" | "path" | NullableText);
	/** How often the disk has it: in the row, and in indexes. */
	copies: number;
	/** The row needs it, and a part of it is useful: it is cut to the space that is left. */
	isNeeded?: true;
	/** Characters that are kept of a longer text. Absent: a part of the text has no meaning. */
	kept?: number;
}
type NullableText =
	| ("dlp" | "guardrails" | "metadata" | "event_id" | "model_type" | "user_agent")
	| ("request_content_type" | "response_content_type");

/** Characters of a text that may be cut. */
const MAX_TEXT = 64;

/** The most useful one is first. A text for which no space is left is absent. */
const TEXTS: readonly RefusalText[] = [
	{ name: "model", copies: 2, isNeeded: true, kept: MAX_TEXT },
	{ name: "provider", copies: 2, isNeeded: true, kept: MAX_TEXT },
	{ name: "dlp", copies: 1 },
	{ name: "guardrails", copies: 1 },
	{ name: "metadata", copies: 4 },
	{ name: "event_id", copies: 3 },
	{ name: "path", copies: 1, isNeeded: true, kept: MAX_TEXT },
	{ name: "model_type", copies: 1 },
];
/** After the error. */
const LAST_TEXTS: readonly RefusalText[] = [
	{ name: "user_agent", copies: 1, kept: MAX_TEXT },
	{ name: "request_content_type", copies: 1 },
	{ name: "response_content_type", copies: 1 },
];

/** Of the error. */
const MAX_ERROR_BYTES = 160;
/** A character has at most so many bytes in JSON: `\\u0000`. */
const MAX_JSON_BYTES = 6;
/** Characters of a message. With fewer it says nothing. */
const LEAST_MESSAGE = 24;

/** The log of a refusal. `response`: that to the caller. Absent: it is not collected. */
export function logOfRefusal(row: LogRow, failure: FailureKey, response?: Payload): Log {
	const short = { ...row };
	const free = keepTexts(short, TEXTS, TEXT_BYTES);
	short.error = response
		? shortened(response, FAILURES[failure].code, Math.min(free, MAX_ERROR_BYTES))
		: null;
	keepTexts(short, LAST_TEXTS, free - Buffer.byteLength(short.error ?? ""));
	return { row: short };
}

/** Shortens or removes texts of the row until they take at most so many bytes. @returns the bytes that are left. */
function keepTexts(row: LogRow, texts: readonly RefusalText[], bytes: number): number {
	let free = bytes;
	for (const { name, copies, isNeeded, kept = Number.POSITIVE_INFINITY } of texts) {
		const text = row[name];
		if (text === null) continue;
		const characterBytes = copies * (isAscii(text) ? 1 : MAX_CHARACTER_BYTES);
		const fields = name === "metadata" ? Object.keys(metadataFields(text) ?? {}).length : 0;
		const fieldBytes = fields * METADATA_FIELD_BYTES;
		const most = Math.max(0, Math.floor((free - fieldBytes) / characterBytes));
		const cut = text.slice(0, isNeeded ? Math.min(most, kept) : kept);
		if (cut.length > most) {
			Object.assign(row, { [name]: null });
			continue;
		}
		Object.assign(row, { [name]: cut });
		free -= cut.length * characterBytes + fieldBytes;
	}
	return free;
}

const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length;

/**
 * The error in a response, as JSON of at most `max` bytes: the response, or else its longest text, which is the message, with its code. `null`:
 * the response is long and no JSON, or the message would be too short.
 */
function shortened({ text, complete }: Payload, code: number, max: number): string | null {
	if (complete && Buffer.byteLength(text) <= max) return text;
	const message = longestText(parseJson(text));
	const withMessage = (part: string): string => JSON.stringify({ errors: [{ code, message: part }] });
	// Each character takes at least one byte.
	let kept = message.slice(0, max);
	while (kept.length >= LEAST_MESSAGE) {
		const excess = Buffer.byteLength(withMessage(kept)) - max;
		if (excess <= 0) break;
		kept = kept.slice(0, kept.length - Math.ceil(excess / MAX_JSON_BYTES));
	}
	kept = kept.replace(/[\ud800-\udbff]$/, "");
	return kept.length < LEAST_MESSAGE ? null : withMessage(kept);
}

function longestText(json: unknown): string {
	let longest = "";
	JSON.stringify(json, (_, field) => {
		if (typeof field === "string" && field.length > longest.length) longest = field;
		return field;
	});
	return longest;
}
