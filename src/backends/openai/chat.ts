/**
 * Text generation: https://platform.openai.com/docs/api-reference/chat, and what vLLM, SGLang and llama.cpp add to it.
 *
 * Streams are forwarded as bytes. A `prompt` without messages goes to `/completions` (`completions.ts`). Usage is always
 * requested; it is absent if the engine sends none.
 *
 * Observed: with `n` above 1 llama.cpp counts the tokens of one choice (`choices.ts`).
 */
import { pick } from "../../core/present.ts";
import type { ChatCompletion, ChatInput, ChatMessage } from "../../tasks/text-generation/types.ts";
import { narrowTools } from "../allowed-tools.ts";
import type { Target } from "../backend.ts";
import { withoutBreakpoints } from "../cache-breakpoints.ts";
import type { Handler } from "../handler.ts";
import { foldSystemMessages } from "../system-messages.ts";
import { postJson, postStream } from "../transport/http.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { countAllChoices } from "./choices.ts";
import { completeRawPrompt } from "./completions.ts";
import { bodyFor, ENGINE_SAMPLING, type Host, hostedService, isOpenAiService } from "./hosts.ts";
import { type Generation, generateStream, generateValue } from "./prefill-decode/calls.ts";
import { ChatReply, completion, toolContext } from "./reply/chat-reply.ts";
import { chatReplyParser } from "./reply/collected-reply.ts";
import { sampling } from "./sampling.ts";

const PATH = "/chat/completions";

export const generateText: Handler<"text-generation"> = (input, call) => {
	if (input.prompt !== undefined) return completeRawPrompt(input, call);
	return input.stream ? streamChat(input, call) : chat(input, call);
};

async function streamChat(input: ChatInput, call: Call): ReturnType<Handler<"text-generation">> {
	const generation = generationOf(input, call);
	const { choices } = generation;
	const reply = await generateStream(call, generation, (legCall, body, headers) =>
		postStream(legCall, PATH, body, {
			schema: ChatReply,
			choices,
			chat: toolContext(input, call),
			streamEnd: call.streamEnd,
			...(headers && { headers }),
		}),
	);
	return reply.kind === "stream" ? reply : countAllChoices(completion(reply.value, call, input), input);
}

/** A complete reply. */
export async function chat(input: ChatInput, call: Call): Promise<ChatCompletion> {
	const reply = await generateValue(call, generationOf(input, call), (legCall, body, headers) =>
		postJson(legCall, PATH, body, ChatReply, {
			parse: chatReplyParser(toolContext(input, call)),
			...(headers && { headers }),
		}),
	);
	return countAllChoices(completion(reply, call, input), input);
}

const generationOf = (input: ChatInput, call: Call): Generation => ({
	path: PATH,
	body: requestBody(input, call),
	choices: input.n ?? 1,
});

function requestBody(sent: ChatInput, call: Call): Record<string, unknown> {
	const strict = isOpenAiService(call.target);
	const host = hostedService(call.target);
	const input = host?.cacheBreakpoints ? sent : withoutBreakpoints(sent);
	const body = {
		...(strict ? withoutSampling(input.passthrough) : input.passthrough),
		messages: messagesFor(input.messages, call.target, host),
		...sampling(input, call),
		...pick(input, "logprobs", "top_logprobs", "parallel_tool_calls"),
		// `null` disables reasoning: a setting of the chat template, except at OpenAI, which has no such setting.
		reasoning_effort: input.reasoning_effort ?? undefined,
		// Both names, so that a passed-through field cannot raise the limit. OpenAI's newer models refuse `max_tokens`.
		max_tokens: strict ? undefined : input.max_tokens,
		max_completion_tokens: strict ? input.max_tokens : undefined,
		...(strict
			? pick(input, "tools", "tool_choice")
			: {
					...narrowTools(input),
					chat_template_kwargs:
						input.reasoning_effort === null
							? { enable_thinking: false, ...input.chat_template_kwargs }
							: input.chat_template_kwargs,
				}),
	};
	return host ? bodyFor(host, body, input.reasoning_effort !== null) : body;
}

/** OpenAI's own service refuses unknown fields. */
const withoutSampling = (sent: ChatInput["passthrough"] = {}): Record<string, unknown> =>
	Object.fromEntries(Object.entries(sent).filter(([name]) => !ENGINE_SAMPLING.has(name)));

/** Hosted services accept system messages anywhere; the chat templates of engines do not. The setting of the backend overrides both. */
function messagesFor(messages: ChatMessage[], target: Target, host: Host | undefined): object[] {
	const isHosted = isOpenAiService(target) || host !== undefined;
	const { systemMessages = isHosted ? "anywhere" : "first" } = target;
	const folded = foldSystemMessages(messages, { ...target, systemMessages });
	if (isOpenAiService(target)) return folded.map(forService);
	return folded.map((message) => (host ? forHost(message, host) : forEngine(message)));
}

/** Removes the signatures of other providers' models. */
function withoutSignatures({
	thinking_blocks: _,
	tool_calls,
	...message
}: ChatMessage): Omit<ChatMessage, "thinking_blocks"> {
	if (!tool_calls) return message;
	return { ...message, tool_calls: tool_calls.map(({ extra_content: _signature, ...call }) => call) };
}

/** OpenAI refuses the reasoning of earlier messages. */
function forService(sent: ChatMessage): Record<string, unknown> {
	const { reasoning_content: _, ...message } = withoutSignatures(sent);
	return message;
}

function forHost(sent: ChatMessage, { reasoningField, signed }: Host): Record<string, unknown> {
	const { role, ...message } = forService(sent);
	return {
		role: role === "developer" ? "system" : role,
		...message,
		...(signed && sent.tool_calls && { tool_calls: sent.tool_calls }),
		...(reasoningField &&
			sent.reasoning_content !== undefined && { [reasoningField]: sent.reasoning_content }),
	};
}

/** Chat templates have no role `developer`; vLLM renamed `reasoning_content` to `reasoning`. */
function forEngine(sent: ChatMessage): Record<string, unknown> {
	const { role, ...message } = withoutSignatures(sent);
	return {
		role: role === "developer" ? "system" : role,
		...message,
		...(message.reasoning_content !== undefined && { reasoning: message.reasoning_content }),
	};
}
