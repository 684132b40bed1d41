/** Failures of AI Search. A detail follows the product's text after a colon. It contains names of fields and no text of items or queries. */
import { AiError, FAILURES, type FailureKey } from "../../core/errors.ts";

type SearchFailure = Extract<FailureKey, `search${string}` | `tooManySearch${string}` | "chatQueryMissing">;

export const searchFailure = (key: SearchFailure, detail?: string): AiError =>
	new AiError(key, detail === undefined ? undefined : `${FAILURES[key].description}: ${detail}`);
