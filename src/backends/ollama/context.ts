/**
 * The context length that a request needs. Ollama allocates 4,096 tokens unless the request sets another size, and
 * silently drops the beginning of a longer prompt. It loads the model again for each size, so only powers of two are used,
 * or the backend's `num_ctx`.
 */
import type { Model } from "../../models/model.ts";
import { promptTokens } from "../../tasks/text-generation/index.ts";
import type { ChatInput } from "../../tasks/text-generation/types.ts";
import type { Target } from "../backend.ts";

/** The default of the server. */
const DEFAULT_CONTEXT = 4_096;
/** Limit for a model whose context window is unknown. */
const MAX_CONTEXT = 131_072;
/** Reserved for the answer if the request has no `max_tokens`. */
const DEFAULT_OUTPUT_TOKENS = 1_024;
/** The count of prompt tokens is an estimate. */
const MARGIN = 1.25;

/** `undefined`: the default of the server is sufficient. */
export function contextFor(
	input: ChatInput,
	{ numCtx }: Target,
	{ contextWindow }: Model,
): number | undefined {
	if (numCtx !== undefined) return numCtx;
	const needed = promptTokens(input) * MARGIN + (input.max_tokens ?? DEFAULT_OUTPUT_TOKENS);
	if (needed <= DEFAULT_CONTEXT) return undefined;
	const size = 2 ** Math.ceil(Math.log2(needed));
	return Math.min(size, contextWindow ?? MAX_CONTEXT);
}
