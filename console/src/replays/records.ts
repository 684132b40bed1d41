/** Replays of a gateway's logs, as the API shows them. */
import type { BatchStatus } from "../api/types.ts";

export interface Replay {
	id: string;
	gateway: string;
	model: string;
	judge: string | null;
	status: BatchStatus;
	logs: { total: number; completed: number; failed: number };
	created_at: string;
	ended_at: string | null;
	usage: { input_tokens: number; output_tokens: number; neurons: number; neurons_without_discount: number };
	waiting?: { message: string; until: string };
}

export interface ComparedAnswer {
	model: string;
	text: string;
	text_complete: boolean;
	tool_calls?: { name: string; arguments: string }[];
	tokens_in: number | null;
	tokens_out: number | null;
	/** US dollars. */
	cost: number | null;
	/** Milliseconds. */
	duration: number | null;
}

export interface Difference {
	path: string;
	kind: "added" | "removed" | "changed";
	/** JSON. */
	before?: string;
	after?: string;
}

export interface Comparison {
	log: string;
	created_at: string;
	before?: ComparedAnswer;
	after?: ComparedAnswer;
	same?: boolean;
	differences?: Difference[];
	differences_complete?: boolean;
	judge?: { model: string; score?: number; reason?: string; error?: string; cost: number | null };
	error?: { code: number; message: string };
}
