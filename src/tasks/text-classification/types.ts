/** Input and output of text classification. */

export interface ClassifyTextInput {
	text: string;
}

/** Scores add up to about 1. */
export interface LabelsOutput {
	labels: { label: string; score: number }[];
}
