/** The request of a chat in Ollama's format. Pure. */
import { parseRecord } from "../../core/json.ts";
import { pick } from "../../core/present.ts";
import { splitDataUrl } from "../../media/base64.ts";
import {
	type ChatInput,
	type ChatMessage,
	type ChatTool,
	type ContentPart,
	commonEffort,
	textOf,
} from "../../tasks/text-generation/types.ts";
import { narrowTools } from "../allowed-tools.ts";
import { foldSystemMessages } from "../system-messages.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { refuseLoraAndChoices, unsupported } from "../unsupported.ts";
import { contextFor } from "./context.ts";

/** `/api/chat` */
export function chatBody(input: ChatInput, call: Call): Record<string, unknown> {
	refuseUnsupported(input, call);
	const toolNames = new Map(
		input.messages.flatMap(({ tool_calls = [] }) =>
			tool_calls.map((toolCall) => [toolCall.id, toolCall.function.name]),
		),
	);
	return {
		...common(input, call),
		messages: foldSystemMessages(input.messages, call.target).map((message) =>
			messageOf(message, toolNames, call),
		),
		tools: offeredTools(input),
		think: thinkOf(input),
	};
}

/** `/api/generate`. The model's template combines prompt and suffix; without a suffix the prompt is sent raw. */
export function generateBody(input: ChatInput, prompt: string, call: Call): Record<string, unknown> {
	refuseUnsupported(input, call);
	const { suffix } = input;
	return { ...common(input, call), prompt, ...(suffix === undefined ? { raw: true } : { suffix }) };
}

const common = (input: ChatInput, { target, model }: Call): Record<string, unknown> => ({
	model: target.model,
	stream: input.stream,
	format: formatOf(input),
	...pick(input, "logprobs", "top_logprobs"),
	options: {
		num_ctx: contextFor(input, target, model),
		num_predict: input.max_tokens,
		...pick(input, "temperature", "top_p", "top_k", "seed"),
		repeat_penalty: input.repetition_penalty,
		...pick(input.passthrough ?? {}, "min_p", "typical_p"),
		...pick(input, "frequency_penalty", "presence_penalty", "stop"),
	},
});

/** Refuses fields that Ollama would ignore. */
function refuseUnsupported(input: ChatInput, call: Call): void {
	refuseLoraAndChoices(input, call);
	if (Object.keys(input.logit_bias ?? {}).length > 0) throw unsupported(call, "takes no logit_bias");
}

function formatOf({ response_format: format }: ChatInput): unknown {
	switch (format?.type) {
		case "json_object":
			return "json";
		case "json_schema":
			return format.json_schema.schema ?? "json";
		default:
			return undefined;
	}
}

/** Models without levels accept each level as `true`. Absent: the default of the model. */
function thinkOf({ chat_template_kwargs: kwargs, ...input }: ChatInput): unknown {
	const effort = commonEffort(input);
	if (effort === null) return false;
	if (effort !== undefined) return effort === "minimal" ? "low" : effort;
	return typeof kwargs?.enable_thinking === "boolean" ? kwargs.enable_thinking : undefined;
}

/** Ollama has no tool choice, so tools that must not be called are omitted. */
function offeredTools(input: ChatInput): ChatTool[] | undefined {
	const { tools, tool_choice: choice } = narrowTools(input);
	if (choice === "none") return undefined;
	return typeof choice === "object"
		? tools?.filter((tool) => tool.function.name === choice.function.name)
		: tools;
}

function messageOf(message: ChatMessage, toolNames: Map<string, string>, call: Call): object {
	const { role, content, reasoning_content, tool_calls, tool_call_id } = message;
	const images = Array.isArray(content) ? content.flatMap((part) => imageOf(part, call)) : [];
	const toolName = tool_call_id === undefined ? message.name : toolNames.get(tool_call_id);
	return {
		role: role === "developer" ? "system" : role,
		content: textOf(content),
		...(images.length > 0 && { images }),
		...(reasoning_content && { thinking: reasoning_content }),
		...(tool_calls && {
			tool_calls: tool_calls.map(({ id, function: { name, arguments: text } }) => ({
				id,
				// Ollama accepts only objects.
				function: { name, arguments: parseRecord(text) ?? {} },
			})),
		}),
		...(role === "tool" && { tool_name: toolName, tool_call_id }),
	};
}

/** The server fetches no images: they must be in the message. */
function imageOf({ type, image_url }: ContentPart, call: Call): string[] {
	if (type === "text" || type === "refusal") return [];
	if (type !== "image_url") throw unsupported(call, `takes no ${type} among the messages`);
	const embedded = splitDataUrl(image_url?.url ?? "");
	if (!embedded) throw unsupported(call, "takes images as data URLs alone");
	return [embedded.base64];
}
