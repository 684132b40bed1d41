/**
 * Native chat replies: `{response, tool_calls, usage}`.
 *
 * Choices where captures of the product differ or do not exist: calls are flat (`{name, arguments: {…}}` with a `response`
 * of null, as for Llama 3.3). Llama 4 Scout's calls have OpenAI's form, without a `response`. Reasoning is in the text.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { parseRecord } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import type { AssistantMessage, ChatCompletion, ToolCall } from "../../tasks/text-generation/types.ts";
import type { NativeWriter } from "../dialect.ts";
import { chatWriter } from "./call.ts";
import { parseJsonReply } from "./json-mode.ts";
import { nativeEvents } from "./native-stream.ts";
import { sealedBlocks } from "./sealed.ts";
import { messageText } from "./thinking-text.ts";
import { NativeUsage, nativeUsage } from "./usage.ts";

const FlatCall = lazy(() =>
	z.object({
		name: z.string(),
		arguments: z.union([z.record(z.string(), z.unknown()), z.string()]),
	}),
);
export const OpenAiCall = lazy(() =>
	z.object({
		id: z.string(),
		type: z.literal("function"),
		function: z.object({ name: z.string(), arguments: z.string() }),
	}),
);

const SealedBlock = lazy(() =>
	z.object({
		type: z.enum(["thinking", "redacted_thinking"]),
		thinking: z.string().optional(),
		signature: z.string().optional(),
		data: z.string().optional(),
	}),
);

const TextResponse = lazy(() =>
	z.object({
		response: z
			.unknown()
			.optional()
			.meta({ description: "Text, null beside tool calls, a document in JSON mode" }),
		tool_calls: z.array(z.union([FlatCall(), OpenAiCall()])).optional(),
		thinking_blocks: z.array(SealedBlock()).optional(),
		usage: NativeUsage.optional(),
	}),
);
type TextResponse = z.output<ReturnType<typeof TextResponse>>;

interface TextResponseForm {
	calls?: "flat" | "openai";
	/** Whether a reply without tool calls has an empty list of calls. */
	noCalls?: "empty" | "absent";
}

export const textResponseWriter = ({
	calls = "flat",
	noCalls = "empty",
}: TextResponseForm = {}): NativeWriter => ({
	schema: TextResponse,
	...chatWriter({
		value(completion, { model, withCost }, { response_format }): TextResponse {
			const message = firstMessage(completion);
			const usage = completion.usage ? { usage: nativeUsage(withCost(completion.usage)) } : {};
			const sealed = sealedBlocks(message);
			if (message.tool_calls?.length) {
				const text = messageText(message, model) || null;
				if (calls === "flat")
					return { response: text, tool_calls: message.tool_calls.map(flat), ...sealed, ...usage };
				return {
					...(text !== null && { response: text }),
					tool_calls: message.tool_calls,
					...sealed,
					...usage,
				};
			}
			const response =
				response_format && response_format.type !== "text"
					? parseJsonReply(message.content ?? "", response_format)
					: messageText(message, model);
			return { response, ...(noCalls === "empty" && { tool_calls: [] }), ...sealed, ...usage };
		},
		events: nativeEvents,
	}),
});

export function firstMessage({ choices }: ChatCompletion): AssistantMessage {
	const [choice] = choices;
	if (!choice) throw new AiError("executionFailed", "The engine answered without a choice");
	return choice.message;
}

/** Arguments that are not a JSON object stay text. */
function flat({ function: { name, arguments: text } }: ToolCall): z.output<ReturnType<typeof FlatCall>> {
	return { name, arguments: parseRecord(text || "{}") ?? text };
}
