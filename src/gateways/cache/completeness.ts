/**
 * Whether an answer may be cached: it has to be complete. A stream that fails after its start has status 200 and ends like any other
 * at the level of HTTP, so the decision needs its last events.
 */
import { createParser } from "eventsource-parser";
import { isRecord, parseJson } from "../../core/json.ts";
import { decodeUtf8 } from "../../media/utf8.ts";
import { isDone } from "../../streams/sse.ts";

/** The last event of a complete stream: Anthropic's Messages, OpenAI's Responses and images. */
const LAST_TYPES: ReadonlySet<unknown> = new Set([
	"message_stop",
	"response.completed",
	"response.incomplete",
	"image_generation.completed",
	"image_edit.completed",
]);
const FAILURE_TYPES: ReadonlySet<unknown> = new Set(["error", "response.failed"]);
/** A check of each event would cost more: only these can be failures. */
const MAYBE_FAILURE = /error|response\.failed/;

/** `bytes`: the body, which ended without an error. */
export function isCompleteAnswer(contentType: string, bytes: Uint8Array): boolean {
	const [type = ""] = contentType.toLowerCase().split(";", 1);
	switch (type.trim()) {
		case "text/event-stream":
			return isCompleteStream(decodeUtf8(bytes));
		case "application/json":
			return isCompleteJson(parseJson(decodeUtf8(bytes)));
		default:
			return bytes.length > 0;
	}
}

/** A list is the stream of Gemini's `streamGenerateContent`, whose last item may be a failure. */
function isCompleteJson(value: unknown): boolean {
	if (value === undefined) return false;
	const last = Array.isArray(value) ? (value.at(-1) as unknown) : value;
	return !isRecord(last) || last.error === undefined || last.error === null;
}

function isCompleteStream(text: string): boolean {
	// The parser drops an event that no blank line ends.
	if (!/\r?\n\r?\n$/.test(text)) return false;
	let failed = false;
	let last: { event?: string | undefined; data: string } | undefined;
	const parser = createParser({
		onEvent(event) {
			last = event;
			failed ||= isFailure(event);
		},
	});
	parser.feed(text);
	return !failed && last !== undefined && endsStream(last);
}

function isFailure({ event, data }: { event?: string | undefined; data: string }): boolean {
	if (FAILURE_TYPES.has(event)) return true;
	if (!MAYBE_FAILURE.test(data)) return false;
	const value = parseJson(data);
	if (!isRecord(value)) return false;
	return FAILURE_TYPES.has(value.type) || (value.error !== undefined && value.error !== null);
}

function endsStream({ event, data }: { event?: string | undefined; data: string }): boolean {
	if (isDone(data) || LAST_TYPES.has(event)) return true;
	const value = parseJson(data);
	if (!isRecord(value)) return false;
	// Gemini's last event has the reason of the end.
	const [candidate] = Array.isArray(value.candidates) ? (value.candidates as unknown[]) : [];
	return LAST_TYPES.has(value.type) || (isRecord(candidate) && typeof candidate.finishReason === "string");
}
