import { AiError } from "./errors.ts";

/** Error 3030 with the product's sentence (observed). `name`: the input, for example `image[1]` or `mask`. */
export const undecodableImage = (name = "image[0]", cause?: unknown): AiError =>
	new AiError("refusedByModel", `Invalid input ${name}: unable to decode image file`, { cause });
