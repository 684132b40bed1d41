/** Reads the token counts in an engine's message about a request that exceeds its context. Pure. */
import type { ContextOverflow } from "../../core/errors.ts";

/** Groups: `limit` of the context, `input` tokens, those of `tools` beside them, `output` tokens that were requested. */
const MESSAGES: readonly RegExp[] = [
	// Anthropic
	/exceed context limit: (?<input>\d+) \+ (?<output>\d+) > (?<limit>\d+)/i,
	/prompt is too long: (?<input>\d+) tokens > (?<limit>\d+) maximum/i,
	// OpenAI and vLLM: "…, you requested 5000 tokens (1000 in the messages, 4000 in the completion)."
	// Completions: "(1000 in your prompt; 4000 for the completion)".
	/maximum context length is (?<limit>\d+) tokens.* requested \d+ tokens \((?<input>\d+) [^,;]*[,;] (?<output>\d+) /is,
	// OpenRouter: "requested about 5000 tokens (900 of text input, 100 of tool input, 4000 in the output)"
	/maximum context length is (?<limit>\d+) tokens.* \((?<input>\d+) of text input(?:, (?<tools>\d+) of tool input)?(?:, (?<output>\d+) in the output)?\)/is,
	/maximum context length is (?<limit>\d+) tokens.* (?:resulted in|requested) (?<input>\d+) tokens(?:\.| in)/is,
	// vLLM: "'max_tokens' … is too large: 32000. This model's maximum context length is 8192 tokens and your request has 5000 input tokens"
	/too large: (?<output>\d+)\..*maximum context length is (?<limit>\d+) tokens.* has (?<input>\d+) input tokens/is,
	// Newer vLLM: "You passed 5001 input tokens and requested 100 output tokens. However, the model's context length is only 4096 tokens, …"
	/passed (?<input>\d+) input tokens and requested (?<output>\d+) output tokens.* context length is only (?<limit>\d+)/is,
	/passed (?<input>\d+) input tokens.* context length is only (?<limit>\d+)/is,
	// SGLang: "…: 1000 tokens from the input messages and 4000 tokens for the completion."
	/maximum context length of (?<limit>\d+) tokens.* (?<input>\d+) tokens from the input messages and (?<output>\d+) tokens/is,
	// vLLM: "The decoder prompt (length 5000) is longer than the maximum model length of 4096."
	/prompt \(length (?<input>\d+)\) is longer than the maximum model length of (?<limit>\d+)/i,
	/input \((?<input>\d+) tokens\) is longer than the model's context length \((?<limit>\d+) tokens\)/i,
	// llama.cpp: "request (24071 tokens) exceeds the available context size (8192 tokens), try increasing it"
	/request \((?<input>\d+) tokens\) exceeds the available context size \((?<limit>\d+) tokens\)/i,
	// Text Generation Inference
	/must be <= (?<limit>\d+)\. Given: (?<input>\d+) `inputs` tokens and (?<output>\d+) `max_new_tokens`/,
	/must have less than (?<limit>\d+) tokens\. Given: (?<input>\d+)/,
	// Gemini
	/input token count \((?<input>\d+)\) exceeds the maximum number of tokens allowed \((?<limit>\d+)\)/i,
	// Mistral, Fireworks, xAI, Moonshot (its count includes the requested output), LM Studio
	/prompt contains (?<input>\d+) tokens.* model with (?<limit>\d+) maximum context length/is,
	/prompt is too long: (?<input>\d+), model maximum context length: (?<limit>\d+)/i,
	/maximum prompt length is (?<limit>\d+) but the request contains (?<input>\d+) tokens/i,
	/exceeded model token limit: (?<limit>\d+) \(requested: (?<input>\d+)\)/i,
	/the first (?<input>\d+) tokens when .* context length of only (?<limit>\d+) tokens/is,
];

/** The counts are at the beginning. The rest may quote the input. */
const MAX_CHARACTERS = 1_000;

/** `undefined` if the message has no counts. */
export function overflowIn(message: string): ContextOverflow | undefined {
	const beginning = message.slice(0, MAX_CHARACTERS);
	for (const pattern of MESSAGES) {
		const { input, tools = 0, output, limit } = pattern.exec(beginning)?.groups ?? {};
		if (input !== undefined && limit !== undefined)
			return {
				inputTokens: Number(input) + Number(tools),
				limit: Number(limit),
				...(output !== undefined && { outputTokens: Number(output) }),
			};
	}
	return undefined;
}
