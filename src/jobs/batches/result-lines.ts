/** The lines of the files of results, in the formats of the APIs. */
import { isRecord, parseRecord } from "../../core/json.ts";
import { own } from "../../core/own.ts";
import type { BatchApi } from "./records.ts";

/** An answer of a route. `text`: its body. */
interface LineAnswer {
	status: number;
	requestId: string;
	text: string;
}

interface ResultLine {
	/** With its line end. */
	text: string;
	/** It belongs to the file of errors. */
	isError: boolean;
}

interface ResultFormat {
	answered(customId: string, answer: LineAnswer): ResultLine;
	/** The line has not started. */
	unfinished(customId: string, reason: "cancelled" | "expired"): ResultLine;
}

const MAX_MESSAGE_CHARACTERS = 1_000;
const UNFINISHED = {
	cancelled: { code: "batch_cancelled", message: "The batch was cancelled before this line started." },
	expired: { code: "batch_expired", message: "The time of the batch was over before this line started." },
} as const;

/** github.com/googleapis/googleapis/blob/master/google/rpc/code.proto */
const GOOGLE_CODES: Readonly<Record<string, number>> = {
	INVALID_ARGUMENT: 3,
	DEADLINE_EXCEEDED: 4,
	NOT_FOUND: 5,
	PERMISSION_DENIED: 7,
	RESOURCE_EXHAUSTED: 8,
	FAILED_PRECONDITION: 9,
	OUT_OF_RANGE: 11,
	UNIMPLEMENTED: 12,
	INTERNAL: 13,
	UNAVAILABLE: 14,
	UNAUTHENTICATED: 16,
};
const GOOGLE_CANCELLED = 1;
const GOOGLE_UNKNOWN = 2;
const GOOGLE_DEADLINE = 4;

/** Output and errors are two files. An answer with a failure has no `error` of its own. */
const OPENAI: ResultFormat = {
	answered: (customId, { status, requestId, text }) => ({
		text: `{"id":"batch_req_${idOf(requestId)}","custom_id":${JSON.stringify(customId)},"response":{"status_code":${status},"request_id":${JSON.stringify(requestId)},"body":${oneLine(text)}},"error":null}\n`,
		isError: !isSuccess(status),
	}),
	unfinished: (customId, reason) => ({
		text: `${JSON.stringify({ id: `batch_req_${idOf(crypto.randomUUID())}`, custom_id: customId, response: null, error: UNFINISHED[reason] })}\n`,
		isError: true,
	}),
};

/** One file. `customId`: JSON of the index of the request and of its reference. */
const WORKERS_AI: ResultFormat = {
	answered: (customId, { status, text }) => {
		const [index, reference] = JSON.parse(customId) as [number, string | null];
		const rest = `"external_reference":${JSON.stringify(reference)}`;
		return {
			text: isSuccess(status)
				? `{"id":${index},"success":true,"result":${oneLine(text)},${rest}}\n`
				: `{"id":${index},"success":false,"error":${JSON.stringify(workersAiError(text))},${rest}}\n`,
			isError: false,
		};
	},
	unfinished: (customId, reason) => {
		const [index, reference] = JSON.parse(customId) as [number, string | null];
		const { message } = UNFINISHED[reason];
		const line = { id: index, success: false, error: { message }, external_reference: reference };
		return { text: `${JSON.stringify(line)}\n`, isError: false };
	},
};

/** One file. The body of a failure has the format of the errors of Messages, unless a provider has answered. */
const ANTHROPIC: ResultFormat = {
	answered: (customId, { status, requestId, text }) => ({
		text: `{"custom_id":${JSON.stringify(customId)},"result":${
			isSuccess(status)
				? `{"type":"succeeded","message":${oneLine(text)}}`
				: JSON.stringify({ type: "errored", error: messagesError(text, requestId) })
		}}\n`,
		isError: false,
	}),
	unfinished: (customId, reason) => ({
		text: `${JSON.stringify({ custom_id: customId, result: { type: reason === "cancelled" ? "canceled" : reason } })}\n`,
		isError: false,
	}),
};

function messagesError(text: string, requestId: string): object {
	const error = parseRecord(text)?.error;
	const { type, message } = isRecord(error) ? error : {};
	const known =
		typeof type === "string" && typeof message === "string"
			? { type, message }
			: { type: "api_error", message: text.slice(0, MAX_MESSAGE_CHARACTERS) };
	return { type: "error", error: known, request_id: requestId };
}

/** One file, in the order of the requests. `customId`: JSON of the index of the request and of its metadata. */
const GEMINI: ResultFormat = {
	answered: (customId, { status, text }) => ({
		text: `{${isSuccess(status) ? `"response":${oneLine(text)}` : `"error":${JSON.stringify(googleError(text, status))}`}${metadataOf(customId)}}\n`,
		isError: false,
	}),
	unfinished: (customId, reason) => {
		const error = {
			code: reason === "cancelled" ? GOOGLE_CANCELLED : GOOGLE_DEADLINE,
			message: UNFINISHED[reason].message,
		};
		return { text: `{"error":${JSON.stringify(error)}${metadataOf(customId)}}\n`, isError: false };
	},
};

function metadataOf(customId: string): string {
	const [, metadata] = JSON.parse(customId) as [number, object | null];
	return metadata === null ? "" : `,"metadata":${JSON.stringify(metadata)}`;
}

function googleError(text: string, status: number): object {
	const error = parseRecord(text)?.error;
	const { message, status: name } = isRecord(error) ? error : {};
	return {
		code: (typeof name === "string" ? own(GOOGLE_CODES, name) : undefined) ?? GOOGLE_UNKNOWN,
		message: typeof message === "string" ? message : `${status}: ${text.slice(0, MAX_MESSAGE_CHARACTERS)}`,
	};
}

/** The answer is a comparison, except for one that broke off. `customId`: the id of the log. */
const REPLAY: ResultFormat = {
	answered: (customId, { status, text }) => ({
		text: `{"log":${JSON.stringify(customId)},"status":${status},"comparison":${oneLine(text)}}\n`,
		isError: false,
	}),
	// It has no comparison. The counts of the replay have it.
	unfinished: () => ({ text: "", isError: false }),
};

export const RESULT_FORMATS: Readonly<Record<BatchApi, ResultFormat>> = {
	openai: OPENAI,
	anthropic: ANTHROPIC,
	gemini: GEMINI,
	"workers-ai": WORKERS_AI,
	replay: REPLAY,
};

export const isSuccess = (status: number): boolean => status >= 200 && status < 300;

const idOf = (uuid: string): string => uuid.replaceAll("-", "");

/** A provider may answer JSON of several lines, or none. */
function oneLine(text: string): string {
	try {
		const value: unknown = JSON.parse(text);
		return /[\r\n]/.test(text) ? JSON.stringify(value) : text;
	} catch {
		return JSON.stringify(text);
	}
}

function workersAiError(text: string): object {
	const errors = parseRecord(text)?.errors;
	const first: unknown = Array.isArray(errors) ? errors[0] : undefined;
	return isRecord(first) ? first : { message: text.slice(0, MAX_MESSAGE_CHARACTERS) };
}
