import { exact, upperBound } from "../../counting/quantities.ts";
import type { Media } from "../../media/media.ts";
import type { TaskDefinition } from "../definition.ts";
import { generatedImages } from "./images.ts";
import type { ImageInput } from "./types.ts";

export const textToImage: TaskDefinition<ImageInput, Media> = {
	estimate: (input, model) => upperBound(generatedImages(input, model)),
	measure: (input, _, model) => exact(generatedImages(input, model)),
};
