/**
 * Requests that the gateway refused by itself. Any caller can send thousands of them each second, so the log of a refusal takes at most
 * 1 KB of the disk: it has no payloads, and its texts are short.
 */
import { Buffer } from "node:buffer";
import { FAILURES } from "../../core/errors.ts";
import type { GatewayEnd } from "../exchange.ts";
import { metadataFields } from "./log-batch.ts";
import type { Log, LogRow } from "./log-row.ts";

/** A failure of an earlier attempt is not that of a request that was answered. */
export const isRefusal = ({ failure, status = 500 }: Pick<GatewayEnd, "failure" | "status">): boolean =>
	failure !== undefined && status >= 400 && !FAILURES[failure].isAfterCall;

/** Bytes for the texts of a row, with their copies in indexes. A row without texts takes about 400. */
const TEXT_BYTES = 440;
/** UTF-8 has at most so many bytes for each character of JavaScript. */
const MAX_CHARACTER_BYTES = 3;
/** Each field of the metadata has a row of its own, and two indexes. */
const METADATA_FIELD_BYTES = 130;

interface RefusalText {
	name: keyof LogRow & ("provider" | "model" | "path" | NullableText);
	/** How often the disk has it: in the row, and in indexes. */
	copies: number;
	/** A part of it has no meaning. */
	isWhole?: true;
}
type NullableText =
	| ("dlp" | "guardrails" | "metadata" | "event_id" | "model_type" | "user_agent")
	| ("request_content_type" | "response_content_type");

/** The most useful one is first. A text for which no space is left is cut or absent. */
const TEXTS: readonly RefusalText[] = [
	{ name: "model", copies: 2 },
	{ name: "provider", copies: 2 },
	{ name: "dlp", copies: 1, isWhole: true },
	{ name: "guardrails", copies: 1, isWhole: true },
	{ name: "metadata", copies: 4, isWhole: true },
	{ name: "event_id", copies: 3, isWhole: true },
	{ name: "path", copies: 1 },
	{ name: "model_type", copies: 1 },
	{ name: "user_agent", copies: 1 },
	{ name: "request_content_type", copies: 1 },
	{ name: "response_content_type", copies: 1 },
];
/** Characters of a text that may be cut. */
const MAX_TEXT = 64;

/** The log of a refusal. */
export function logOfRefusal(row: LogRow): Log {
	const short = { ...row };
	let free = TEXT_BYTES;
	for (const { name, copies, isWhole } of TEXTS) {
		const text = row[name];
		if (text === null) continue;
		const characterBytes = copies * (isAscii(text) ? 1 : MAX_CHARACTER_BYTES);
		const fields = name === "metadata" ? Object.keys(metadataFields(text) ?? {}).length : 0;
		const fieldBytes = fields * METADATA_FIELD_BYTES;
		const most = Math.floor((free - fieldBytes) / characterBytes);
		if (isWhole && text.length > most) {
			Object.assign(short, { [name]: null });
			continue;
		}
		const kept = isWhole ? text : text.slice(0, Math.min(most, MAX_TEXT));
		Object.assign(short, { [name]: kept });
		free -= kept.length * characterBytes + fieldBytes;
	}
	return { row: short };
}

const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length;
