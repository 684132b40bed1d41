import { AiError } from "../../../core/errors.ts";

/** Contains nothing that the store has answered: it may quote metadata. */
export const storeFailed = (name: string, problem: string, cause?: unknown): AiError =>
	new AiError("vectorsUnavailable", `The vector store "${name}" ${problem}`, { cause });
