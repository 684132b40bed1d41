/** Inputs and outputs of the tasks on images. Sizes and boxes are in pixels. */
import { AiError } from "../core/errors.ts";
import type { Media } from "./media.ts";
import type { Usage } from "./text-generation.ts";

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

export interface DescribeImageInput {
	image: Media;
	prompt?: string;
	/** Pass the prompt to the model as it is. */
	raw?: boolean;
	max_tokens?: number;
	temperature?: number;
	top_p?: number;
	top_k?: number;
	seed?: number;
	repetition_penalty?: number;
	frequency_penalty?: number;
	presence_penalty?: number;
}

export interface DescribeImageOutput {
	description: string;
	usage?: Usage;
}

export interface ClassifyImageInput {
	image: Media;
}

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

/** Error 3030 with the product's own sentence (observed). `name` is the name of the input: `image[1]`, `mask`. */
export const undecodableImage = (name = "image[0]", cause?: unknown): AiError =>
	new AiError("refusedByModel", `Invalid input ${name}: unable to decode image file`, { cause });
