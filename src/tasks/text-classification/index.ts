/** Text classification: labels with scores. */
import {
	estimatedTokens,
	maxEncoderTokens,
	tokenUpperBound,
	truncatedTokens,
} from "../../counting/quantities.ts";
import type { TaskDefinition } from "../definition.ts";

export interface ClassifyTextInput {
	text: string;
}

/** Scores add up to about 1. */
export interface LabelsOutput {
	labels: { label: string; score: number }[];
}

export const textClassification: TaskDefinition<ClassifyTextInput, LabelsOutput> = {
	estimate: ({ text }) => tokenUpperBound(maxEncoderTokens([text])),
	measure: ({ text }, _, model) => estimatedTokens(truncatedTokens([text], model)),
};
