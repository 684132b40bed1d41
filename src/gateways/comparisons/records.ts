/** The messages about comparisons between the isolates and the `Gateway` object. Plain data, because they cross RPC. */

/** `text`: the JSON of a comparison. */
export interface NewComparison {
	/** The id of the log. */
	log: string;
	text: string;
}

export interface ComparisonPageQuery {
	/** The id of the replay, or the name of the shadow. */
	source: string;
	offset: number;
	limit: number;
}

export interface ComparisonPage {
	/** JSON of comparisons. */
	texts: string[];
	/** Of all pages. */
	total: number;
}
