/**
 * The texts in the answers of any task, for guardrails and data-loss rules. Formats differ by model and provider, so
 * every string of the JSON is a text, except those of fields that contain no text. Media are not decoded; their addresses are texts.
 */
import { createParser } from "eventsource-parser";
import { isRecord, parseJson } from "../../core/json.ts";
import { summaryText } from "../../dialects/responses/summary.ts";
import { decodeStrictUtf8, decodeUtf8 } from "../../media/utf8.ts";
import { isDone, SSE_CONTENT_TYPE } from "../../streams/sse.ts";

/** Names, ids and enumerations. */
const WITHOUT_TEXT: ReadonlySet<string> = new Set([
	"call_id",
	"detail",
	"encoding_format",
	"event_id",
	"finishReason",
	"finish_reason",
	"format",
	"id",
	"item_id",
	"logprobs",
	"media_type",
	"mimeType",
	"mime_type",
	"model",
	"modelVersion",
	"native_finish_reason",
	"object",
	"p",
	"responseId",
	"response_id",
	"role",
	"service_tier",
	"signature",
	"status",
	"stop_reason",
	"system_fingerprint",
	"tool_call_id",
	"type",
]);
/** Base64, or an address. */
const MEDIA: ReadonlySet<string> = new Set([
	"audio",
	"b64_json",
	"bytes",
	"data",
	"file_data",
	"image",
	"image_b64",
	"image_url",
	"mask",
	"mask_b64",
	"url",
	"video",
]);
const ADDRESS = /^https?:/i;
const MAX_ADDRESS_CHARACTERS = 2_000;

/** Types of media: their bytes are no text. Any other body is text if it is UTF-8, whatever type the sender names. */
const MEDIA_TYPE = /^(?:audio|font|image|model|video)\//i;
const TEXT_TYPE = /^(?:text\/|application\/(?:[\w.-]+\+|x-nd)?json\b)/i;

/** Whether an answer of this type may have texts. Media have none. */
export const mayHaveTexts = (contentType: string): boolean => !MEDIA_TYPE.test(contentType);

/** The texts of an answer. Empty for media. The texts of a stream's events are joined by their place in the event. */
export function responseTexts(contentType: string, bytes: Uint8Array): string[] {
	if (!contentType.toLowerCase().startsWith(SSE_CONTENT_TYPE)) return bodyTexts(contentType, bytes);
	const byPlace = new Map<string, string>();
	const parser = createParser({
		onEvent({ data }) {
			if (isDone(data)) return;
			const value = parseJson(data);
			// An event that is not JSON is a text.
			collect(value === undefined ? data : value, "", (text, place) =>
				byPlace.set(place, (byPlace.get(place) ?? "") + text),
			);
		},
	});
	parser.feed(decodeUtf8(bytes));
	return [...byPlace.values()];
}

function bodyTexts(contentType: string, bytes: Uint8Array): string[] {
	if (!mayHaveTexts(contentType)) return [];
	let text: string;
	try {
		text = TEXT_TYPE.test(contentType) ? decodeUtf8(bytes) : decodeStrictUtf8(bytes);
	} catch {
		return [];
	}
	const texts = jsonTexts(text);
	if (texts) return texts;
	// Lines of JSON, such as those of a batch.
	const isLines = text.trimStart().startsWith("{");
	return (isLines ? text.split("\n") : [text])
		.flatMap((line) => jsonTexts(line) ?? [line])
		.filter((part) => part !== "");
}

function jsonTexts(text: string): string[] | undefined {
	const value = /^\s*[[{"]/.test(text) ? parseJson(text) : undefined;
	return value === undefined ? undefined : textsIn(value);
}

/** The texts of a JSON value. */
export function textsIn(value: unknown): string[] {
	const texts: string[] = [];
	collect(value, "", (text) => texts.push(text));
	return texts;
}

type Emit = (text: string, place: string) => void;

/** `place`: the fields and indexes that lead to the value. */
function collect(value: unknown, place: string, emit: Emit, field = ""): void {
	if (typeof value === "string") {
		const isAddress = value.length <= MAX_ADDRESS_CHARACTERS && ADDRESS.test(value);
		if (value !== "" && (!MEDIA.has(field) || isAddress)) emit(summaryText(value) ?? value, place);
	} else if (Array.isArray(value)) {
		for (const [index, item] of value.entries()) collect(item, `${place}.${index}`, emit, field);
	} else if (isRecord(value)) {
		for (const [name, item] of Object.entries(value))
			if (!WITHOUT_TEXT.has(name)) collect(item, `${place}.${name}`, emit, name);
	}
}
