/** A request with a hosted search tool, as its format reads it. */
import type { Model } from "../../models/model.ts";
import type { ResolvedRoute } from "../../pipeline/plan.ts";
import type { WebSearchCall } from "../../tasks/text-generation/types.ts";
import type { SearchToolSettings } from "./search-tool.ts";

export interface HostedRequest {
	settings: SearchToolSettings;
	/** The name of the function that replaces the tool. */
	toolName: string;
	/** The model must call the tool. */
	isForced?: boolean;
	/**
	 * The fields with the function in place of the tool. `finished`: the pending searches with their outcomes.
	 */
	fields(finished: readonly WebSearchCall[]): object;
	/** The fields that the answer repeats: those that the caller sent. */
	echoed: object;
	/** Searches that the answer before this request has left to it. */
	pending: readonly WebSearchCall[];
	/** How the answer shows its searches. */
	style: SearchStyle;
}

/** A backend that a route names. */
export type RoutedTarget = ResolvedRoute["targets"][number];

interface SearchStyle {
	/** The answer has the searches themselves, not only the citations. */
	showsSearches: boolean;
	/** Searches in an answer that also calls tools of the caller run in the next request. Otherwise a seal carries their results. */
	leavesPending: boolean;
	/** An answer with too many rounds ends, and the caller continues it. Otherwise the model answers without another search. */
	pauses: boolean;
}

export interface HostedFormat {
	/** The tool in `x-ganglion-dropped`. */
	toolName: string;
	/** {@link withoutTool} removes the tool, and the dialect cannot report it. */
	removesTool?: true;
	/** Whether `fields` have the tool or results of earlier searches. It is called for every request, so it must be cheap. */
	concerns(fields: Record<string, unknown>): boolean;
	/** A request without this field has no hosted tool. Absent: {@link concerns} looks at several. */
	field?: string;
	/**
	 * The request for a model that has no search tool. `undefined`: it requests no search, and the returned fields of
	 * {@link withoutTool} are sent.
	 */
	read(fields: Record<string, unknown>): HostedRequest | undefined;
	/** The fields for an upstream that has the tool itself: without results that only the gateway can read. */
	forUpstream(fields: Record<string, unknown>): object;
	/** The fields without the tool, for a model without searches. Results of earlier searches become plain results of tools. */
	withoutTool(fields: Record<string, unknown>): object;
	/** Whether the backend has the tool, and receives the caller's request with it. */
	isAtUpstream(target: RoutedTarget, model: Model): boolean;
}

export const recordsIn = (value: unknown): Record<string, unknown>[] =>
	Array.isArray(value) ? value.filter((each) => typeof each === "object" && each !== null) : [];
