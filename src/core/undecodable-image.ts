import { AiError } from "./errors.ts";

/** Error 3030 with the product's own sentence (observed). `name` is the name of the input: `image[1]`, `mask`. */
export const undecodableImage = (name = "image[0]", cause?: unknown): AiError =>
	new AiError("refusedByModel", `Invalid input ${name}: unable to decode image file`, { cause });
