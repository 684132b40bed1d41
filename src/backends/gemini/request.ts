/**
 * What is asked of `generateContent`. Schemas go as JSON Schema (`parametersJsonSchema`, `responseJsonSchema`), whole: what
 * Gemini does not know of it, it does not heed.
 *
 * Not asked for, because Gemini has no such thing: `repetition_penalty`, `logit_bias`, `parallel_tool_calls`, `user`, and
 * what is passed through to OpenAI's own service.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import type { ChatInput, ChatTool, ResponseFormat } from "../../tasks/text-generation/types.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { conversationOf } from "./contents.ts";
import { seedOf, thinkingConfig } from "./generation.ts";

export function requestBody(input: ChatInput, { target, model }: Call): Record<string, unknown> {
	// Another target may do better: retryable.
	const refuse = (what: string) =>
		new AiError("engineRefused", `The backend '${target.backend}' has no input for ${what}`, {
			retryable: true,
		});
	if (input.prompt !== undefined) throw refuse("a raw prompt");
	if (input.lora !== undefined)
		throw new AiError("loraUnsupported", `The model ${model.id} does not support LoRA inference`);
	return {
		...conversationOf(input.messages, { model: target.model, refuse }),
		generationConfig: {
			temperature: input.temperature,
			topP: input.top_p,
			topK: input.top_k,
			maxOutputTokens: input.max_tokens,
			stopSequences: input.stop,
			seed: seedOf(input.seed),
			candidateCount: input.n,
			presencePenalty: input.presence_penalty,
			frequencyPenalty: input.frequency_penalty,
			responseLogprobs: input.logprobs || undefined,
			logprobs: input.logprobs ? input.top_logprobs : undefined,
			thinkingConfig: thinkingConfig(input.reasoning_effort, target.model),
			...responseFormat(input.response_format),
		},
		...tools(input),
	};
}

function responseFormat(format: ResponseFormat | undefined): Record<string, unknown> {
	if (format === undefined || format.type === "text") return {};
	return {
		responseMimeType: "application/json",
		responseJsonSchema: format.type === "json_schema" ? format.json_schema.schema : undefined,
	};
}

function tools({ tools: offered = [], tool_choice: choice = "auto" }: ChatInput): Record<string, unknown> {
	// Tools that are not allowed are not shown.
	const allowed =
		typeof choice === "object" && choice.type === "allowed_tools" ? choice.allowed_tools : undefined;
	const names = allowed && new Set(allowed.tools.map(toolName));
	const shown = names ? offered.filter((tool) => names.has(tool.function.name)) : offered;
	if (shown.length === 0) return {};
	return {
		tools: [{ functionDeclarations: shown.map(declaration) }],
		toolConfig: { functionCallingConfig: callingConfig(allowed?.mode ?? choice, shown) },
	};
}

const ToolReference = z.object({ function: z.object({ name: z.string() }) });
const toolName = (tool: unknown): string | undefined => ToolReference.safeParse(tool).data?.function.name;

const declaration = ({ function: { name, description, parameters } }: ChatTool) => ({
	name,
	description,
	parametersJsonSchema: parameters,
});

function callingConfig(
	choice: NonNullable<ChatInput["tool_choice"]>,
	shown: readonly ChatTool[],
): Record<string, unknown> {
	if (choice === "none") return { mode: "NONE" };
	if (choice === "required") return { mode: "ANY" };
	if (typeof choice === "object" && choice.type === "function")
		return { mode: "ANY", allowedFunctionNames: [choice.function.name] };
	// Free to call or to speak, but a call keeps to its schema.
	return { mode: shown.some((tool) => tool.function.strict) ? "VALIDATED" : "AUTO" };
}
