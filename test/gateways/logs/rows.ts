/** Rows of logs with default fields. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { timeOrderedUuid } from "../../../src/core/time-ordered-uuid.ts";
import { LogTable } from "../../../src/gateways/durable/log-table.ts";
import type { Log, LogRow } from "../../../src/gateways/logs/log-row.ts";

export const newGateway = () => env.GATEWAY.getByName(`account/${crypto.randomUUID()}`);

/** `time`: epoch milliseconds. */
export const newRow = (fields: Partial<LogRow> = {}, time = Date.now()): LogRow => ({
	id: timeOrderedUuid(time, crypto.randomUUID()),
	event_id: null,
	provider: "workers-ai",
	model: "@cf/a/b",
	model_type: null,
	path: "@cf/a/b",
	duration: 10,
	first_byte: 5,
	request_type: null,
	request_content_type: "application/json",
	response_content_type: "application/json",
	status_code: 200,
	success: 1,
	cached: 0,
	tokens_in: 1,
	tokens_out: 2,
	cost: 0.5,
	custom_cost: 0,
	step: 0,
	metadata: null,
	request_size: 3,
	response_size: 4,
	user_agent: null,
	dlp_action: null,
	dlp: null,
	guardrails: null,
	byok: 0,
	authentication: 0,
	wholesale: 0,
	compatibility_mode: 0,
	feedback: null,
	score: null,
	usage_estimated: 0,
	error: null,
	...fields,
});

export const newLog = (fields: Partial<LogRow> = {}, time?: number): Log => ({ row: newRow(fields, time) });

/** Runs with the table of a gateway's logs. */
export const withTable = <T>(run: (table: LogTable, sql: SqlStorage) => T | Promise<T>): Promise<T> =>
	runInDurableObject(newGateway(), (_, { storage: { sql } }) => run(new LogTable(sql), sql));
