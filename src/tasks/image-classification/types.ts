/** Input of image classification. The output is that of text classification. */
import type { Media } from "../../media/media.ts";

export interface ClassifyImageInput {
	image: Media;
}
