/** Replays of a gateway's logs and shadows of routes, as the API shows them. */
import type { Comparison } from "../../../src/gateways/comparisons/records.ts";
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

/** An answer beside that of a log. */
export interface ShownComparison extends Comparison {
	/** Of the log. */
	created_at: string;
}

/** A shadow of a route. Without a route: it is no longer in the configuration. */
export interface Shadow {
	name: string;
	route: string | null;
	backend: string | null;
	model: string | null;
	share: number;
	answers: number;
}
