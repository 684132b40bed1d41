import { atMost, known } from "../../counting/quantities.ts";
import type { Media } from "../../media/media.ts";
import type { TaskDefinition } from "../definition.ts";
import { generatedImages } from "./images.ts";
import type { ImageInput } from "./types.ts";

export const textToImage: TaskDefinition<ImageInput, Media> = {
	estimate: (input, model) => atMost(generatedImages(input, model)),
	measure: (input, _, model) => known(generatedImages(input, model)),
};
