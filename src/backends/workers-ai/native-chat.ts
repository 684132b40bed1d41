/** Chats by `run`, in the input format of the model. */
import * as z from "zod";
import { pick } from "../../core/present.ts";
import type { NativeChat } from "../../models/families.ts";
import { inputFamily } from "../../models/family.ts";
import { type ChatInput, type ChatMessage, textOf } from "../../tasks/text-generation/types.ts";
import { requestChat } from "../completion.ts";
import type { Handler } from "../handler.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { unsupported } from "../unsupported.ts";
import { chatBody, describedTool, takesOpenAiMessages } from "./chat-body.ts";
import { NativeReply, NativeTranslator, nativeCompletion } from "./native-reply.ts";
import { requestOf, resultOf, upstreamModel } from "./run.ts";

export const runChat: Handler<"text-generation"> = async (input, call) =>
	requestChat(call, input, {
		...requestOf(call, nativeInputs(input, call)),
		schema: z.unknown(),
		completion: (reply) => nativeCompletion(resultOf(reply, NativeReply, call), input, call),
		translator: () => new NativeTranslator(input, call),
	});

/** The inputs of the model for `run`. */
function nativeInputs(input: ChatInput, call: Call): Record<string, unknown> {
	const { isOpenAiChat, native } = inputFamily(upstreamModel(call));
	if (isOpenAiChat) {
		if (input.prompt !== undefined) throw unsupported(call, "takes no raw prompts by its binding");
		const { model: _, ...body } = chatBody(input, call);
		return body;
	}
	if (input.n !== undefined && input.n > 1) throw unsupported(call, "gives one answer a request");
	if (input.suffix !== undefined) throw unsupported(call, "takes no suffix");
	return {
		...(input.prompt === undefined
			? { messages: input.messages.map((message) => messageOf(message, native?.content === "text")) }
			: { prompt: input.prompt, raw: true }),
		...pick(input, "stream", "max_tokens", "temperature", "top_p", "top_k", "seed"),
		...pick(input, "repetition_penalty", "frequency_penalty", "presence_penalty", "lora", "tool_choice"),
		...(input.tools && { tools: input.tools.map(describedTool) }),
		...formatOf(input, native, takesOpenAiMessages(call)),
	};
}

/** The older models take the schema itself, the oldest of them under its older name. */
function formatOf(
	{ response_format: format }: ChatInput,
	native: NativeChat | undefined,
	takesOpenAiFormat: boolean,
): object {
	if (format === undefined || format.type === "text") return {};
	if (format.type === "json_object" || takesOpenAiFormat) return { response_format: format };
	const schema = format.json_schema.schema ?? {};
	return native?.guidedJson && !native.responseFormat
		? { guided_json: schema }
		: { response_format: { type: "json_schema", json_schema: schema } };
}

/** The binding refuses messages without content. */
function messageOf(
	{ role, content, name, tool_calls, tool_call_id }: ChatMessage,
	textOnly: boolean,
): object {
	return {
		role: role === "developer" ? "system" : role,
		content: textOnly ? textOf(content) : (content ?? ""),
		...(name !== undefined && { name }),
		...(tool_calls && { tool_calls }),
		...(tool_call_id !== undefined && { tool_call_id }),
	};
}
