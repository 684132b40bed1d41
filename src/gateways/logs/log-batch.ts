/**
 * Logs on their way from an isolate to the object of their gateway: JSON that its statements read. So a row is converted once, and the
 * object parses none.
 */
import { isRecord, parseJson } from "../../core/json.ts";
import { jsonArrays } from "../../core/json-arrays.ts";
import { COLUMN_NAMES } from "./log-columns.ts";
import { type Log, type LogRow, PAYLOAD_PARTS, type Payload, type PayloadPart } from "./log-row.ts";

/** Characters. A larger payload is not part of the JSON, which may double it. With a bucket, it is an object. */
const MAX_IN_ROW = 64 * 1024;

/** Each text is a JSON array of rows, and each row an array of its values. */
export interface LogBatch {
	/** Of all logs, in their order. */
	ids: readonly string[];
	/** In the order of {@link COLUMN_NAMES}. */
	rows: readonly string[];
	/** `[logs, {key: value}]`: many logs have the same metadata. */
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
		metadata: textsOf(metadataGroups(logs)),
		payloads: textsOf(payloads),
		large,
	};
}

const textsOf = (values: readonly unknown[]): string[] => jsonArrays(values).map(({ text }) => text);

function metadataGroups(logs: readonly Log[]): [logs: string[], fields: Record<string, string>][] {
	const groups: [string[], Record<string, string>][] = [];
	for (const [metadata, same] of Map.groupBy(logs, ({ row }) => row.metadata)) {
		const fields = metadataFields(metadata);
		if (fields) groups.push([same.map(({ row }) => row.id), fields]);
	}
	return groups;
}

/** The metadata of a row with its values as texts. `undefined`: it is no object. */
export function metadataFields(metadata: LogRow["metadata"]): Record<string, string> | undefined {
	const fields = metadata === null ? undefined : parseJson(metadata);
	if (!isRecord(fields)) return undefined;
	return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, String(value)]));
}
