/** Input and output of image-to-text. */
import type { Usage } from "../../core/usage.ts";
import type { Media } from "../../media/media.ts";

export interface DescribeImageInput {
	image: Media;
	prompt?: string;
	/** Pass the prompt to the model unchanged. */
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
