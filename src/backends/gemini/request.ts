/**
 * The request of `generateContent`. Schemas are sent as complete JSON Schemas (`parametersJsonSchema`,
 * `responseJsonSchema`): Gemini ignores unsupported keywords.
 *
 * Omitted, because Gemini has no such fields: `repetition_penalty`, `logit_bias`, `parallel_tool_calls`, `user`, and fields
 * that are passed through to OpenAI's service.
 */
import {
	type ChatInput,
	type ChatTool,
	commonEffort,
	positiveTopK,
	type ResponseFormat,
} from "../../tasks/text-generation/types.ts";
import { narrowTools } from "../allowed-tools.ts";
import type { Seals } from "../seals.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { loraUnsupported, unsupported } from "../unsupported.ts";
import { conversationOf } from "./contents.ts";
import { seedOf, thinkingConfig } from "./generation.ts";
import { searchTools } from "./grounding.ts";

export function requestBody(input: ChatInput, call: Call, seals: Seals | undefined): Record<string, unknown> {
	if (input.prompt !== undefined) throw unsupported(call, "has no input for a raw prompt");
	if (input.lora !== undefined) throw loraUnsupported(call);
	return {
		...conversationOf(input.messages, call, seals),
		generationConfig: {
			temperature: input.temperature,
			topP: input.top_p,
			topK: positiveTopK(input),
			maxOutputTokens: input.max_tokens,
			stopSequences: input.stop,
			seed: seedOf(input.seed),
			candidateCount: input.n,
			presencePenalty: input.presence_penalty,
			frequencyPenalty: input.frequency_penalty,
			responseLogprobs: input.logprobs || undefined,
			logprobs: input.logprobs ? input.top_logprobs : undefined,
			thinkingConfig: thinkingConfig(commonEffort(input), call.target.model),
			...responseFormat(input.response_format),
		},
		...toolFields(input, call),
	};
}

function responseFormat(format: ResponseFormat | undefined): Record<string, unknown> {
	if (format === undefined || format.type === "text") return {};
	return {
		responseMimeType: "application/json",
		responseJsonSchema: format.type === "json_schema" ? format.json_schema.schema : undefined,
	};
}

function toolFields(input: ChatInput, call: Call): Record<string, unknown> {
	const { tools = [], tool_choice = "auto" } = narrowTools(input);
	const search = searchTools(input.web_search, tools.length > 0, call);
	if (tools.length === 0) return search.length > 0 ? { tools: search } : {};
	return {
		tools: [{ functionDeclarations: tools.map(declaration) }],
		toolConfig: { functionCallingConfig: callingConfig(tool_choice, tools) },
	};
}

const declaration = ({ function: { name, description, parameters } }: ChatTool) => ({
	name,
	description,
	parametersJsonSchema: parameters,
});

function callingConfig(
	choice: NonNullable<ReturnType<typeof narrowTools>["tool_choice"]>,
	tools: readonly ChatTool[],
): Record<string, unknown> {
	if (choice === "none") return { mode: "NONE" };
	if (choice === "required") return { mode: "ANY" };
	if (typeof choice === "object") return { mode: "ANY", allowedFunctionNames: [choice.function.name] };
	// VALIDATED: the model may answer with text, and a call matches its schema.
	return { mode: tools.some((tool) => tool.function.strict) ? "VALIDATED" : "AUTO" };
}
