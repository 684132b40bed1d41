/** Input and output of object detection. Sizes and boxes are in pixels. */
import type { Media } from "../../media/media.ts";

export interface DetectObjectsInput {
	image: Media;
	/** Detect only this, if the model supports it. */
	target?: string;
	max_objects?: number;
}

export interface DetectedObject {
	label: string;
	score: number;
	box: { xmin: number; ymin: number; xmax: number; ymax: number };
}

export interface DetectObjectsOutput {
	objects: DetectedObject[];
	/** Size of the image, for dialects that write boxes as fractions. */
	width: number;
	height: number;
}
