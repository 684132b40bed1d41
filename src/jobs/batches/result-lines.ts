/** The lines of the files of results, in the formats of the APIs. */
import { isRecord, parseRecord } from "../../core/json.ts";
import type { BatchApi } from "./records.ts";

/** An answer of a route. `text`: its body. */
export interface LineAnswer {
	status: number;
	requestId: string;
	text: string;
}

export interface ResultLine {
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

const UNFINISHED = {
	cancelled: { code: "batch_cancelled", message: "The batch was cancelled before this line started." },
	expired: { code: "batch_expired", message: "The time of the batch was over before this line started." },
} as const;

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

/** One file. */
const ANTHROPIC: ResultFormat = {
	answered: (customId, { status, text }) => ({
		text: isSuccess(status)
			? `{"custom_id":${JSON.stringify(customId)},"result":{"type":"succeeded","message":${oneLine(text)}}}\n`
			: `${JSON.stringify({ custom_id: customId, result: { type: "errored", error: anthropicError(text) } })}\n`,
		isError: false,
	}),
	unfinished: (customId, reason) => ({
		text: `${JSON.stringify({ custom_id: customId, result: { type: reason === "cancelled" ? "canceled" : "expired" } })}\n`,
		isError: false,
	}),
};

export const RESULT_FORMATS: Readonly<Record<BatchApi, ResultFormat>> = {
	openai: OPENAI,
	anthropic: ANTHROPIC,
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

function anthropicError(text: string): object {
	const body = parseRecord(text);
	if (body && isRecord(body.error)) return { type: "error", ...body };
	return { type: "error", error: { type: "api_error", message: text.slice(0, 1_000) } };
}
