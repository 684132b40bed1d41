/** Text generation: over the OpenAI route where it can be, else by `run`. */
import type * as z from "zod";
import type { InputShape } from "../../models/model.ts";
import type { Answer } from "../../tasks/task.ts";
import type { ChatCompletion, ChatInput, ChatMessage } from "../../tasks/text-generation.ts";
import { postJson, postStream } from "../http.ts";
import { ChatReply, completion } from "../openai/chat.ts";
import { completeRawPrompt } from "../openai/completions.ts";
import type { Call } from "../upstream-failure.ts";
import { askMoondream } from "./moondream.ts";
import { runChat } from "./native-chat.ts";
import { pricelessUsage } from "./native-reply.ts";
import { upstreamModel, value } from "./run.ts";

const PATH = "/v1/chat/completions";

/** Models whose own inputs are OpenAI's. */
const SPEAKS_OPENAI: ReadonlySet<InputShape> = new Set(["chat-openai", "chat-gpt-oss"]);

export const speaksOpenAi = (call: Call): boolean => SPEAKS_OPENAI.has(upstreamModel(call).input);

export async function generateText(input: ChatInput, call: Call): Promise<Answer<"text-generation">> {
	const { input: shape } = upstreamModel(call);
	if (shape === "moondream") return askMoondream(input, call);
	if (call.target.binding) return runChat(input, call);
	const { prompt } = input;
	// A model whose inputs are OpenAI's has no raw prompt of its own. Unverified that the hosted service has this route.
	if (prompt !== undefined && shape === "chat-openai")
		return completeRawPrompt(input, prompt, { ...call, target: openAiTarget(call) });
	const inJson = input.response_format !== undefined && input.response_format.type !== "text";
	if (prompt !== undefined || (inJson && !speaksOpenAi(call))) return runChat(input, call);
	return chat(input, call);
}

const openAiTarget = ({ target }: Call) => ({ ...target, url: `${target.url}/v1` });

async function chat(input: ChatInput, call: Call): Promise<Answer<"text-generation">> {
	const body = chatBody(input, call);
	if (!input.stream) return value(said(await postJson(call, PATH, body, ChatReply), call));
	const reply = await postStream(call, PATH, body, { schema: ChatReply, choices: input.n ?? 1 });
	return reply.kind === "stream" ? reply : value(said(reply.value, call));
}

function said(reply: z.output<typeof ChatReply>, call: Call): ChatCompletion {
	const usage = pricelessUsage(reply.usage);
	return { ...completion(reply, call), ...(usage && { usage }) };
}

/** OpenAI's body, with what the product's own models know beside it. */
export function chatBody(input: ChatInput, call: Call): Record<string, unknown> {
	const { messages, passthrough, reasoning_effort, stream, ...more } = input;
	// Prompts have a request of their own. A request in Anthropic's words is for Anthropic, `dropped` for the caller.
	const { prompt: _p, suffix: _s, verbatim: _v, dropped: _d, ...fields } = more;
	const speaks = speaksOpenAi(call);
	return {
		...passthrough,
		...fields,
		model: call.target.model,
		messages: messages.map((message) => messageOf(message, speaks)),
		// Of OpenAI's four levels, Cloudflare's models have three; `null` turns thinking off.
		reasoning_effort: reasoning_effort === "minimal" ? "low" : reasoning_effort,
		stream,
		stream_options: stream ? { include_usage: true } : undefined,
	};
}

/** The older models have no role `developer`; thoughts of earlier turns are `reasoning` here, without signatures. */
function messageOf(
	{ reasoning_content, role, thinking_blocks: _, ...message }: ChatMessage,
	speaks: boolean,
): object {
	return {
		role: role === "developer" && !speaks ? "system" : role,
		...message,
		...(reasoning_content !== undefined && { reasoning: reasoning_content }),
	};
}
