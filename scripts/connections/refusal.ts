/**
 * Answers of the guard itself. The error is in Cloudflare's envelope and, as `error`, where clients of OpenAI, Anthropic and Google read it.
 */
import type { FramingError } from "./framing.ts";

/** The caller waits for it before it sends the body that is held. */
export const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";

const RETRY_SECONDS = 2;

interface GuardAnswer {
	status: string;
	code: number;
	type: string;
	message: string;
}

const FULL: GuardAnswer = {
	status: "503 Service Unavailable",
	code: 3040,
	type: "overloaded_error",
	message: "Capacity temporarily exceeded, please try again: all connections of the gateway are in use.",
};
const LATE: GuardAnswer = {
	status: "408 Request Timeout",
	code: 3007,
	type: "timeout_error",
	message: "Request timeout: the request arrived too slowly",
};
const MALFORMED: GuardAnswer = {
	status: "400 Bad Request",
	code: 5006,
	type: "invalid_request_error",
	message: "The request is not valid HTTP/1.1",
};
const TOO_LARGE: GuardAnswer = { ...MALFORMED, status: "431 Request Header Fields Too Large" };

export function refusal(reason: "full" | "late" | "malformed", error?: FramingError): string {
	const { status, code, message, type } =
		reason === "full" ? FULL : reason === "late" ? LATE : error?.status === 431 ? TOO_LARGE : MALFORMED;
	const sentence = error ? `${message}: ${error.message}` : message;
	const body = JSON.stringify({
		result: null,
		success: false,
		errors: [{ code, message: sentence }],
		messages: [],
		error: { type, code, message: sentence },
	});
	const retry = reason === "full" ? `retry-after: ${RETRY_SECONDS}\r\n` : "";
	return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\n${retry}connection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}
