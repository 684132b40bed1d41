/**
 * Comparisons, and the messages about them between the isolates and the `Gateway` object. Plain data, because they cross RPC. The console reads them,
 * too.
 */

/** `text`: the JSON of a comparison. */
export interface NewComparison {
	/** The id of the log. */
	log: string;
	text: string;
}

export interface ComparisonPageQuery {
	/** The id of the replay, or `shadow:` and the name of the shadow. */
	source: string;
	offset: number;
	limit: number;
}

export interface ComparisonSource {
	source: string;
	/** Of its comparisons. */
	total: number;
}

export interface ComparisonPage {
	/** JSON of comparisons. */
	texts: string[];
	/** Of all pages. */
	total: number;
}

export interface Difference {
	/** Such as `$.items[0].price`. */
	path: string;
	kind: "added" | "removed" | "changed";
	/** JSON. */
	before?: string;
	after?: string;
}

export interface ComparedAnswer {
	provider: string;
	model: string;
	status: number;
	text: string;
	/** The text is not cut, and all calls are here. */
	text_complete: boolean;
	/** Names and arguments (JSON) of the calls of tools. */
	tool_calls?: { name: string; arguments: string }[];
	tokens_in: number | null;
	tokens_out: number | null;
	/** US dollars. */
	cost: number | null;
	/** Milliseconds until the end of the answer. */
	duration: number | null;
}

export interface JudgeResult {
	model: string;
	/** 0: the new answer is much worse than that of the log. 0.5: equally good. 1: much better. */
	score?: number;
	reason?: string;
	/** Why there is no score. */
	error?: string;
	tokens_in: number | null;
	tokens_out: number | null;
	cost: number | null;
}

export interface Comparison {
	/** The id of the log. */
	log: string;
	/** The answer in the log. Absent: the log cannot be read. */
	before?: ComparedAnswer;
	/** The new answer. Absent: it failed. */
	after?: ComparedAnswer;
	/** Whether the answers are equal: their values if both are structured, otherwise their texts without white space at their ends. */
	same?: boolean;
	/** Of structured answers. */
	differences?: Difference[];
	differences_complete?: boolean;
	judge?: JudgeResult;
	/** Why there is no new answer. */
	error?: { code: number; message: string };
}
