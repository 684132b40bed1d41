/**
 * Logs on their way from an isolate to the object of their gateway: JSON that its statements read. So a row is converted once, and the
 * object parses none.
 */
import { isRecord, parseJson } from "../../core/json.ts";
import { jsonArrays } from "../../core/json-arrays.ts";
import { COLUMN_NAMES } from "./log-columns.ts";
import { type Log, type LogRow, PAYLOAD_PARTS, type Payload, type PayloadPart } from "./log-row.ts";

/** Characters. A larger payload is not part of the JSON, which may double it. With a bucket, it is an object. */
export const MAX_IN_ROW = 64 * 1024;

/** Each text is a JSON array of rows, and each row an array of its values. */
export interface LogBatch {
	/** Of all logs, in their order. */
	ids: readonly string[];
	/** In the order of {@link COLUMN_NAMES}. */
	rows: readonly string[];
	/** `[log, key, value]` */
	metadata: readonly string[];
	/** `[log, part, text, complete]` */
	payloads: readonly string[];
	large: readonly LargePayload[];
}

export interface LargePayload {
	log: string;
	part: PayloadPart;
	payload: Payload;
}

export function batchOf(logs: readonly Log[]): LogBatch {
	const payloads: unknown[][] = [];
	const large: LargePayload[] = [];
	for (const log of logs)
		for (const part of PAYLOAD_PARTS) {
			const payload = log[part];
			if (!payload) continue;
			const { id } = log.row;
			if (payload.text.length > MAX_IN_ROW) large.push({ log: id, part, payload });
			else payloads.push([id, part, payload.text, payload.complete ? 1 : 0]);
		}
	return {
		ids: logs.map(({ row }) => row.id),
		rows: textsOf(logs.map(({ row }) => COLUMN_NAMES.map((name) => row[name]))),
		metadata: textsOf(logs.flatMap(({ row }) => metadataOf(row))),
		payloads: textsOf(payloads),
		large,
	};
}

const textsOf = (values: readonly unknown[]): string[] => jsonArrays(values).map(({ text }) => text);

/** The entries of a row's metadata: `[log, key, value]`. */
export function metadataOf({ id, metadata }: Pick<LogRow, "id" | "metadata">): [string, string, string][] {
	const fields = metadata === null ? undefined : parseJson(metadata);
	return isRecord(fields) ? Object.entries(fields).map(([key, value]) => [id, key, String(value)]) : [];
}
