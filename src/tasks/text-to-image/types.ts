/** Input of text-to-image. The output is a media file. Sizes are in pixels. */
import type { Media } from "../../media/media.ts";

export interface ImageInput {
	prompt: string;
	negative_prompt?: string;
	width: number;
	height: number;
	steps?: number;
	guidance?: number;
	seed?: number;
	/** 0 to 1: how far the result may differ from the first of `images`. */
	strength?: number;
	/** Start images or reference images. */
	images: Media[];
	/** The area to repaint (inpainting). */
	mask?: Media;
	format: "png" | "jpeg";
}
