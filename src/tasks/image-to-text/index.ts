/** Image to text: descriptions of images. */
import type { Usage } from "../../core/usage.ts";
import { inputImage } from "../../counting/images.ts";
import {
	completeUsage,
	estimatedTokens,
	MAX_OUTPUT_TOKENS,
	measuredBy,
	tokenUpperBound,
} from "../../counting/quantities.ts";
import { Approximation, UpperBound } from "../../counting/tally.ts";
import { approximateTokens } from "../../counting/token-estimate.ts";
import { imageSizeOf } from "../../media/image-size.ts";
import type { Media } from "../../media/media.ts";
import type { TaskDefinition } from "../definition.ts";
import type { Sampling } from "../text-generation/types.ts";

export interface DescribeImageInput extends Sampling {
	image: Media;
	prompt?: string;
	/** Pass the prompt to the model unchanged. */
	raw?: boolean;
}

export interface DescribeImageOutput {
	description: string;
	usage?: Usage;
}

/** Default limit of a description in the product's schema. */
const DESCRIPTION_TOKENS = 512;

export const imageToText: TaskDefinition<DescribeImageInput, DescribeImageOutput> = {
	estimate({ image, prompt = "", max_tokens }) {
		const tally = new UpperBound();
		tally.opening();
		tally.markers(2);
		tally.text(prompt);
		tally.image(imageSizeOf(image.bytes));
		const outputTokens = Math.min(max_tokens ?? DESCRIPTION_TOKENS, MAX_OUTPUT_TOKENS);
		return tokenUpperBound(tally.tokens, outputTokens, inputImage(image));
	},
	measure({ image, max_tokens = Number.POSITIVE_INFINITY, prompt }, { description, usage }) {
		const ownCount = () => {
			const tally = new Approximation();
			tally.opening();
			tally.markers(1);
			if (prompt) tally.text(prompt);
			tally.image(imageSizeOf(image.bytes));
			const outputTokens = Math.min(approximateTokens([description]), max_tokens);
			return estimatedTokens(tally.tokens, outputTokens, inputImage(image));
		};
		return measuredBy(usage, ownCount, inputImage(image));
	},
	completeUsage,
};
