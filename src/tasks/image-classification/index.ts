import { inputImage } from "../../counting/images.ts";
import { exact, upperBound } from "../../counting/quantities.ts";
import type { TaskDefinition } from "../definition.ts";
import type { LabelsOutput } from "../text-classification/types.ts";
import type { ClassifyImageInput } from "./types.ts";

export const imageClassification: TaskDefinition<ClassifyImageInput, LabelsOutput> = {
	estimate: ({ image }) => upperBound(inputImage(image)),
	measure: ({ image }) => exact(inputImage(image)),
};
