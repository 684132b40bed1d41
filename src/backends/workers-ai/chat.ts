/** Text generation by Workers AI: on the OpenAI route if possible, otherwise on the route `run`. */
import { inputFamily } from "../../models/family.ts";
import { type ChatCompletion, type ChatInput, positiveTopK } from "../../tasks/text-generation/types.ts";
import type { Handler } from "../handler.ts";
import { completeRawPrompt } from "../openai/completions.ts";
import { onOpenAiRoutes } from "../openai/hosts.ts";
import { ChatCompletionReply, completion } from "../openai/reply/chat-reply.ts";
import { chatReplyParser } from "../openai/reply/collected-reply.ts";
import { toolContext } from "../openai/reply/sent-calls.ts";
import { postJson, postStream } from "../transport/http.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { chatBody, takesOpenAiMessages } from "./chat-body.ts";
import { chatWithMoondream } from "./moondream.ts";
import { runChat } from "./native-chat.ts";
import { usageWithoutPrice } from "./native-reply.ts";
import { upstreamModel } from "./run.ts";

const PATH = "/v1/chat/completions";

export const generateText: Handler<"text-generation"> = async (sent, call) => {
	const input = { ...sent, top_k: positiveTopK(sent) };
	const { hasImageTasks, isOpenAiChat } = inputFamily(upstreamModel(call));
	if (hasImageTasks) return chatWithMoondream(input, call);
	if (call.target.binding) return runChat(input, call);
	const { prompt } = input;
	// Models with OpenAI's inputs have no raw prompt in `run`. Unverified: that the hosted service has this route.
	if (prompt !== undefined && isOpenAiChat) return onOpenAiRoutes(completeRawPrompt)(input, call);
	const isJson = input.response_format !== undefined && input.response_format.type !== "text";
	if (prompt !== undefined || (isJson && !takesOpenAiMessages(call))) return runChat(input, call);
	return chat(input, call);
};

const chat: Handler<"text-generation"> = async (input, call) => {
	const body = chatBody(input, call);
	const context = () => toolContext(input, call);
	const parse = chatReplyParser(context, input.n ?? 1);
	if (!input.stream)
		return completionOf(await postJson(call, PATH, body, ChatCompletionReply, { parse }), call, input);
	const reply = await postStream(call, PATH, body, {
		schema: ChatCompletionReply,
		choices: input.n ?? 1,
		chat: context,
		parse,
	});
	return reply.kind === "stream" ? reply : completionOf(reply.value, call, input);
};

function completionOf(reply: ChatCompletionReply, call: Call, input: ChatInput): ChatCompletion {
	const usage = usageWithoutPrice(reply.usage);
	return { ...completion(reply, call, input), ...(usage && { usage }) };
}
