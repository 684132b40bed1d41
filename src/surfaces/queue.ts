/** The product's asynchronous queue, which this gateway does not have. */
import { AiError } from "../core/errors.ts";

export function refuseQueue(): never {
	throw new AiError("invalidInput", "Invalid input: the asynchronous queue (queueRequest) is not available");
}
