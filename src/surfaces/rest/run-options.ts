/** `options` of a run, on every surface: `tags`, which are validated and ignored, and `queueRequest`, which is refused. */
import * as z from "zod";
import { invalidInput } from "../../dialects/invalid-input.ts";
import { validate } from "../../dialects/validation/validation.ts";

const MAX_TAGS = 5;
const MAX_TAG_CHARACTERS = 50;

/** Tags group requests. The limits are the ones that the product documents. Duplicates count once. */
const Tags = z.preprocess(
	(tags) => (Array.isArray(tags) ? [...new Set<unknown>(tags)] : tags),
	z
		.array(
			z
				.string()
				.max(MAX_TAG_CHARACTERS)
				.regex(/^[A-Za-z0-9:\-./@]*$/),
		)
		.max(MAX_TAGS),
);
const TaggedRequest = z.object({ options: z.looseObject({ tags: Tags.optional() }) });

/** `options`: as the caller sent them. Throws 5006. */
export function checkTags(options: unknown): void {
	if (typeof options === "object" && options !== null && "tags" in options)
		validate(TaggedRequest, { options });
}

/** The product's asynchronous queue is not available in this gateway. */
export function refuseQueue(): never {
	throw invalidInput("the asynchronous queue (queueRequest) is not available");
}
