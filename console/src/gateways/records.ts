/** Custom providers, and the aliases, dynamic routes and logs of a gateway, as the API shows them. */

/** A route that chooses the model of each request. `elements`: its graph, of the latest version. */
export interface DynamicRouteRow {
	id: string;
	name: string;
	modified_at: string;
	elements: { id: string; type: string }[];
	version: { version_id: string };
	/** `null`: it serves nothing yet. */
	deployment: { version_id: string } | null;
}

export interface RouteVersionRow {
	version_id: string;
	/** It serves. */
	active: "true" | "false";
	created_at: string;
	/** The elements, as JSON. */
	data: string;
}

export interface RouteDeploymentRow {
	deployment_id: string;
	version_id: string;
	created_at: string;
}

/** A name for several models. `models`: in the order in which they are called, if `routing` is `fallback`. */
export interface GatewayAliasRow {
	name: string;
	/** In requests. */
	model: string;
	routing: "fallback" | "smart";
	models: string[];
	modified_at: string;
}

export interface CustomProviderRow {
	id: string;
	name: string;
	slug: string;
	base_url: string;
	enable: boolean;
	/** JSON, with placeholders in the place of the values. */
	headers?: string;
	modified_at: string;
}

/** A log in a list: without the content of the request. */
export interface GatewayLog {
	id: string;
	created_at: string;
	provider: string;
	model: string;
	/** The task. */
	model_type?: string;
	path: string;
	status_code: number;
	success: boolean;
	cached: boolean;
	step: number;
	tokens_in: number | null;
	tokens_out: number | null;
	usage_estimated: boolean;
	/** US dollars. Absent: the price is unknown. */
	cost?: number;
	/** Milliseconds until the end of the answer. */
	duration: number;
	/** `latency`: milliseconds until the first byte. */
	timings?: { latency: number };
	metadata?: Record<string, unknown>;
	user_agent?: string;
	dlp_action?: string;
	guardrails?: unknown;
	feedback?: number;
	score?: number;
}

export type LogPart = "request" | "response";

/** A log with the beginnings of its bodies. */
export interface GatewayLogDetails
	extends GatewayLog,
		Partial<Record<`${LogPart}_head`, string>>,
		Record<`${LogPart}_size`, number>,
		Record<`${LogPart}_head_complete`, boolean> {}
