/**
 * Google's route for OpenAI's clients (https://ai.google.dev/gemini-api/docs/openai). Its calls are signed in `extra_content`, and it
 * refuses a call without a signature.
 */
import * as z from "zod";
import { conversationOf } from "../openai/chat.ts";
import { ChatMessage, orderFault } from "../openai/chat-messages.ts";
import { chatReply } from "../openai/chat-reply.ts";
import { type Host, Refusal } from "../script.ts";
import { GOOGLE_KEY } from "./index.ts";
import { GOOGLE_SIGNATURE } from "./reply.ts";

/** Documented for calls that the API did not make. */
const NO_SIGNATURE = "skip_thought_signature_validator";

const Signed = z.strictObject({ google: z.strictObject({ thought_signature: z.string() }) }).optional();
const SignedMessage = z.looseObject({
	extra_content: Signed,
	tool_calls: z.array(z.looseObject({ extra_content: Signed })).optional(),
});

const ChatBody = z.strictObject({
	model: z.string(),
	messages: z.array(SignedMessage).min(1),
	extra_body: z.unknown().optional(),
	frequency_penalty: z.number().optional(),
	max_completion_tokens: z.int().optional(),
	max_tokens: z.int().optional(),
	n: z.int().optional(),
	parallel_tool_calls: z.boolean().optional(),
	presence_penalty: z.number().optional(),
	reasoning_effort: z.enum(["none", "minimal", "low", "medium", "high"]).optional(),
	response_format: z.looseObject({ type: z.enum(["text", "json_object", "json_schema"]) }).optional(),
	seed: z.int().optional(),
	stop: z.union([z.string(), z.array(z.string())]).optional(),
	stream: z.boolean().optional(),
	stream_options: z.strictObject({ include_usage: z.boolean() }).optional(),
	temperature: z.number().optional(),
	tool_choice: z.union([z.enum(["none", "auto", "required"]), z.looseObject({})]).optional(),
	tools: z
		.array(z.looseObject({ type: z.literal("function"), function: z.looseObject({ name: z.string() }) }))
		.optional(),
	top_p: z.number().optional(),
});

const invalid = (message: string): Refusal =>
	new Refusal(400, [{ error: { code: 400, message, status: "INVALID_ARGUMENT" } }]);

/** Of calls that are made together, the first has the signature. */
function checkSignatures(messages: readonly z.output<typeof SignedMessage>[]): void {
	for (const { tool_calls: [first] = [] } of messages) {
		const signature = first?.extra_content?.google.thought_signature ?? "";
		if (first && ![GOOGLE_SIGNATURE, NO_SIGNATURE].includes(signature))
			throw invalid("Function call is missing a thought_signature in functionCall parts.");
	}
}

export const googleChat: Host = ({ body, headers, path }, script) => {
	if (headers.authorization !== `Bearer ${GOOGLE_KEY}`)
		throw invalid("Missing or invalid Authorization header.");
	if (path !== "/v1beta/openai/chat/completions") throw new Refusal(404, {});
	const { data, error } = ChatBody.safeParse(body);
	if (!data) throw invalid(`Invalid JSON payload received. ${error.message}`);
	checkSignatures(data.messages);
	const messages = data.messages.map(({ extra_content: _, tool_calls, ...message }) =>
		ChatMessage.parse({
			...message,
			...(tool_calls && { tool_calls: tool_calls.map(({ extra_content: _signature, ...call }) => call) }),
		}),
	);
	const fault = orderFault(messages);
	if (fault !== undefined) throw invalid(fault);
	const { model, stream = false, stream_options } = data;
	const offered = data.tools?.map((tool) => ({ ...tool, type: "function" as const }));
	const reply = script(
		conversationOf({ model, messages, stream, ...(offered && { tools: offered as never }) }),
	);
	if (reply.kind === "failure") throw invalid("The scripted failures belong to the other route.");
	return chatReply(reply, {
		model,
		stream,
		includeUsage: stream_options?.include_usage ?? false,
		callPrefix: "function-call-",
		callFields: (index) =>
			index === 0 ? { extra_content: { google: { thought_signature: GOOGLE_SIGNATURE } } } : {},
	});
};
