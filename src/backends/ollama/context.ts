/**
 * How much context a request needs. Ollama gives a model 4,096 tokens unless the request sets another size, and silently drops the
 * beginning of a prompt that is longer. Each size is a load of the model of its own, so sizes are few: powers of two, or
 * the one that the backend's `num_ctx` names.
 */

import type { Model } from "../../models/model.ts";
import { promptTokens } from "../../tasks/text-generation/tally.ts";
import type { ChatInput } from "../../tasks/text-generation/types.ts";
import type { Target } from "../backend.ts";

/** What every server gives without being told. */
const DEFAULT_CONTEXT = 4_096;
/** Of a model whose window is not known. */
const MOST_CONTEXT = 131_072;
/** For the answer of a caller who set no limit. */
const USUAL_OUTPUT_TOKENS = 1_024;
/** Our count of a prompt is an estimate. */
const MARGIN = 1.25;

/** `undefined`: the server's own is enough. */
export function contextFor(
	input: ChatInput,
	{ numCtx }: Target,
	{ contextWindow }: Model,
): number | undefined {
	if (numCtx !== undefined) return numCtx;
	const needed = promptTokens(input) * MARGIN + (input.max_tokens ?? USUAL_OUTPUT_TOKENS);
	if (needed <= DEFAULT_CONTEXT) return undefined;
	const size = 2 ** Math.ceil(Math.log2(needed));
	return Math.min(size, contextWindow ?? MOST_CONTEXT);
}
