/**
 * Failures of AI Search. A detail follows the product's text after a colon. It contains names, ids and fields, and no text of items or
 * queries.
 */
import { didYouMean } from "../../core/did-you-mean.ts";
import { AiError, FAILURES, type FailureKey } from "../../core/errors.ts";
import { quotedName } from "../../core/not-found.ts";

type SearchFailure = Extract<FailureKey, `search${string}` | `tooManySearch${string}` | "chatQueryMissing">;

export const searchFailure = (key: SearchFailure, detail?: string): AiError =>
	new AiError(key, detail === undefined ? undefined : `${FAILURES[key].description}: ${detail}`);

/** `known`: the names that exist. */
export const namespaceNotFound = (name: string, known: readonly string[]): AiError =>
	searchFailure("searchNamespaceNotFound", quotedName(name) + didYouMean(name, known));

/** `known`: the ids in the namespace. */
export const instanceNotFound = (id: string, namespace: string, known: readonly string[]): AiError =>
	searchFailure(
		"searchNotFound",
		`${quotedName(id)} in the namespace ${quotedName(namespace)}${didYouMean(id, known)}`,
	);
