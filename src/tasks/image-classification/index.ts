/** Image classification. The output is that of text classification. */
import { inputImage } from "../../counting/images.ts";
import { exact, upperBound } from "../../counting/quantities.ts";
import type { Media } from "../../media/media.ts";
import type { TaskDefinition } from "../definition.ts";
import type { LabelsOutput } from "../text-classification/index.ts";

export interface ClassifyImageInput {
	image: Media;
}

export const imageClassification: TaskDefinition<ClassifyImageInput, LabelsOutput> = {
	estimate: ({ image }) => upperBound(inputImage(image)),
	measure: ({ image }) => exact(inputImage(image)),
};
