/** What answers tell of their scores: that the simulator has made the embeddings, and whether the cache had them. */
import type { AiError } from "../../core/errors.ts";
import { envelope } from "../../http/envelope.ts";

/** Of every answer with scores. Its value: {@link LEXICAL}. */
const SCORES_HEADER = "x-ganglion-scores";
const LEXICAL = "lexical";
/** For people and models. */
export const NOTE =
	"The simulator has made the embeddings: the scores compare words and parts of words, not meanings (docs/simulator.md)";

/** A result, and what a reader of its scores must know. */
export interface NotedResult<Result> {
	result: Result;
	isLexical: boolean;
	/** Failures that the result does not show. */
	hidden?: readonly AiError[];
	/** Sentences about the search. */
	notes?: ReadonlySet<string>;
	/** Absent: the cache was not asked. */
	cacheStatus?: CacheStatus;
}

export type CacheStatus = "HIT" | "MISS";

/** As the product. */
export function cacheMarked(response: Response, status: CacheStatus | undefined): Response {
	if (status !== undefined) response.headers.set("cf-aig-cache-status", status);
	return response;
}

export function marked(response: Response, { isLexical }: { isLexical: boolean }): Response {
	if (isLexical) response.headers.set(SCORES_HEADER, LEXICAL);
	return response;
}

export const leftOutText = ({ description }: AiError): string => `Left out: ${description}`;

/** The result in the envelope, with messages for people. */
export function notedEnvelope({
	cacheStatus,
	hidden = [],
	isLexical,
	notes = new Set(),
	result,
}: NotedResult<object>): Response {
	const failures = hidden.map((error) => ({ code: error.code, message: leftOutText(error) }));
	const messages = [...failures, ...[...notes, ...(isLexical ? [NOTE] : [])].map((message) => ({ message }))];
	return cacheMarked(marked(envelope(result, { messages }), { isLexical }), cacheStatus);
}
