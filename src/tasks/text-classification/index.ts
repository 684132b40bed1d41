import {
	estimatedTokens,
	maxEncoderTokens,
	tokenUpperBound,
	truncatedTokens,
} from "../../counting/quantities.ts";
import type { TaskDefinition } from "../definition.ts";
import type { ClassifyTextInput, LabelsOutput } from "./types.ts";

export const textClassification: TaskDefinition<ClassifyTextInput, LabelsOutput> = {
	estimate: ({ text }) => tokenUpperBound(maxEncoderTokens([text])),
	measure: ({ text }, _, model) => estimatedTokens(truncatedTokens([text], model)),
};
