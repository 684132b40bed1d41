/** A task: which language a text is in. */
import {
	estimatedTokens,
	maxEncoderTokens,
	tokenUpperBound,
	truncatedTokens,
} from "../../../src/counting/quantities.ts";
import type { TaskDefinition } from "../../../src/tasks/definition.ts";

export interface DetectLanguageInput {
	text: string;
}

export interface DetectLanguageOutput {
	language: string;
	/** 0 to 1. */
	score: number;
}

export const languageDetection: TaskDefinition<DetectLanguageInput, DetectLanguageOutput> = {
	estimate: ({ text }) => tokenUpperBound(maxEncoderTokens([text])),
	measure: ({ text }, _, model) => estimatedTokens(truncatedTokens([text], model)),
};
