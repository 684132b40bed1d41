/** The columns of the table of logs. */
import type { LogRow } from "./log-row.ts";

/** The declaration of each column. */
export const COLUMNS: Readonly<Record<keyof LogRow, string>> = {
	id: "TEXT PRIMARY KEY",
	event_id: "TEXT",
	provider: "TEXT NOT NULL",
	model: "TEXT NOT NULL",
	model_type: "TEXT",
	path: "TEXT NOT NULL",
	duration: "INTEGER NOT NULL",
	first_byte: "INTEGER",
	request_type: "TEXT",
	request_content_type: "TEXT",
	response_content_type: "TEXT",
	status_code: "INTEGER NOT NULL",
	success: "INTEGER NOT NULL",
	cached: "INTEGER NOT NULL",
	tokens_in: "INTEGER",
	tokens_out: "INTEGER",
	cost: "REAL",
	custom_cost: "INTEGER NOT NULL",
	step: "INTEGER NOT NULL",
	metadata: "TEXT",
	request_size: "INTEGER",
	response_size: "INTEGER",
	user_agent: "TEXT",
	dlp_action: "TEXT",
	dlp: "TEXT",
	guardrails: "TEXT",
	byok: "INTEGER",
	authentication: "INTEGER NOT NULL",
	wholesale: "INTEGER NOT NULL",
	compatibility_mode: "INTEGER NOT NULL",
	feedback: "INTEGER",
	score: "REAL",
	usage_estimated: "INTEGER",
	error: "TEXT",
};

/** Their order in a batch of rows. */
export const COLUMN_NAMES = Object.keys(COLUMNS) as (keyof LogRow)[];
