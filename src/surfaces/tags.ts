/** `tags` of a run: options of the caller that group its requests. They are validated as the product documents them. */
import * as z from "zod";
import { validate } from "../dialects/validation/validation.ts";

const MOST_TAGS = 5;
const LONGEST_TAG_CHARACTERS = 50;

/** Duplicates count once. */
const Tags = z.preprocess(
	(sent) => (Array.isArray(sent) ? [...new Set<unknown>(sent)] : sent),
	z
		.array(
			z
				.string()
				.max(LONGEST_TAG_CHARACTERS)
				.regex(/^[A-Za-z0-9:\-./@]*$/),
		)
		.max(MOST_TAGS),
);
const Tagged = z.object({ options: z.looseObject({ tags: Tags.optional() }) });

/** `options` as the caller sent them. Throws 5006. */
export function checkTags(options: unknown): void {
	if (typeof options === "object" && options !== null && "tags" in options) validate(Tagged, { options });
}
