import { estimatedTokens, mostTokens, tokensAtMost, truncatedTokens } from "../../counting/quantities.ts";
import type { TaskDefinition } from "../definition.ts";
import type { ClassifyTextInput, LabelsOutput } from "./types.ts";

export const textClassification: TaskDefinition<ClassifyTextInput, LabelsOutput> = {
	estimate: ({ text }) => tokensAtMost(mostTokens([text])),
	measure: ({ text }, _, model) => estimatedTokens(truncatedTokens([text], model)),
};
