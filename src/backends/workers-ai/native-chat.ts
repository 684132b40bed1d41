/** Chats by `run`, in the input format of the model. */

import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { inputFamily, type NativeChat } from "../../models/family.ts";
import type { Answer } from "../../tasks/task.ts";
import { type ChatInput, type ChatMessage, textOf } from "../../tasks/text-generation/types.ts";
import { postTranslated } from "../transport/translated-stream.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { chatBody, takesOpenAiMessages } from "./chat-body.ts";
import { NativeReply, NativeTranslator, nativeCompletion } from "./native-reply.ts";
import { requestOf, resultOf, runJson, upstreamModel } from "./run.ts";

export async function runChat(input: ChatInput, call: Call): Promise<Answer<"text-generation">> {
	const inputs = nativeInputs(input, call);
	if (!input.stream)
		return {
			kind: "value",
			output: nativeCompletion(await runJson(call, inputs, NativeReply), input, call),
		};
	const { path, body } = requestOf(call, inputs);
	const reply = await postTranslated(call, path, body, {
		schema: z.unknown(),
		translator: new NativeTranslator(input, call),
	});
	return reply.kind === "stream"
		? reply
		: { kind: "value", output: nativeCompletion(resultOf(reply.value, NativeReply, call), input, call) };
}

/** The inputs of the model for `run`. */
function nativeInputs(input: ChatInput, call: Call): Record<string, unknown> {
	const { isOpenAiChat, native } = inputFamily(upstreamModel(call));
	if (isOpenAiChat) {
		if (input.prompt !== undefined) throw unable(call, "takes no raw prompts by its binding");
		const { model: _, ...body } = chatBody(input, call);
		return body;
	}
	if ((input.n ?? 1) > 1) throw unable(call, "gives one answer a request");
	if (input.suffix !== undefined) throw unable(call, "takes no suffix");
	return {
		...(input.prompt === undefined
			? { messages: input.messages.map((message) => messageOf(message, native?.content === "text")) }
			: { prompt: input.prompt, raw: true }),
		stream: input.stream,
		max_tokens: input.max_tokens,
		temperature: input.temperature,
		top_p: input.top_p,
		top_k: input.top_k,
		seed: input.seed,
		repetition_penalty: input.repetition_penalty,
		frequency_penalty: input.frequency_penalty,
		presence_penalty: input.presence_penalty,
		lora: input.lora,
		tools: input.tools,
		tool_choice: input.tool_choice,
		...formatOf(input, native, takesOpenAiMessages(call)),
	};
}

const unable = ({ target: { backend } }: Call, limitation: string): AiError =>
	new AiError("engineRefused", `The backend '${backend}' ${limitation}`, {
		retryable: true,
		upstream: { backend },
	});

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
