/** Text generation by Workers AI: on the OpenAI route if possible, otherwise on the route `run`. */

import type * as z from "zod";
import { inputFamily } from "../../models/family.ts";
import type { Answer } from "../../tasks/task.ts";
import type { ChatCompletion, ChatInput } from "../../tasks/text-generation/types.ts";
import { ChatReply, completion } from "../openai/chat.ts";
import { completeRawPrompt } from "../openai/completions.ts";
import { postJson, postStream } from "../transport/http.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { chatBody, takesOpenAiMessages } from "./chat-body.ts";
import { chatWithMoondream } from "./moondream.ts";
import { runChat } from "./native-chat.ts";
import { usageWithoutPrice } from "./native-reply.ts";
import { upstreamModel, value } from "./run.ts";

const PATH = "/v1/chat/completions";

export async function generateText(input: ChatInput, call: Call): Promise<Answer<"text-generation">> {
	const { hasImageTasks, isOpenAiChat } = inputFamily(upstreamModel(call));
	if (hasImageTasks) return chatWithMoondream(input, call);
	if (call.target.binding) return runChat(input, call);
	const { prompt } = input;
	// Models with OpenAI's inputs have no raw prompt in `run`. Unverified: that the hosted service has this route.
	if (prompt !== undefined && isOpenAiChat)
		return completeRawPrompt(input, prompt, { ...call, target: openAiTarget(call) });
	const isJson = input.response_format !== undefined && input.response_format.type !== "text";
	if (prompt !== undefined || (isJson && !takesOpenAiMessages(call))) return runChat(input, call);
	return chat(input, call);
}

const openAiTarget = ({ target }: Call) => ({ ...target, url: `${target.url}/v1` });

async function chat(input: ChatInput, call: Call): Promise<Answer<"text-generation">> {
	const body = chatBody(input, call);
	if (!input.stream) return value(completionOf(await postJson(call, PATH, body, ChatReply), call));
	const reply = await postStream(call, PATH, body, { schema: ChatReply, choices: input.n ?? 1 });
	return reply.kind === "stream" ? reply : value(completionOf(reply.value, call));
}

function completionOf(reply: z.output<typeof ChatReply>, call: Call): ChatCompletion {
	const usage = usageWithoutPrice(reply.usage);
	return { ...completion(reply, call), ...(usage && { usage }) };
}
