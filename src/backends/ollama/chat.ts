/** `/api/chat`, and `/api/generate` for a raw prompt. */
import { requestChat } from "../completion.ts";
import type { Handler } from "../handler.ts";
import { captionPrompt, describedBy } from "../images.ts";
import { toolContext } from "../openai/reply/sent-calls.ts";
import { postJson } from "../transport/http.ts";
import { completionIn, LineTranslator, Reply } from "./reply.ts";
import { chatBody, generateBody } from "./request.ts";

const CHAT = "/api/chat";

export const generateText: Handler<"text-generation"> = async (input, call) => {
	const context = toolContext(input, call);
	return requestChat(call, input, {
		...(input.prompt === undefined
			? { path: CHAT, body: chatBody(input, call) }
			: { path: "/api/generate", body: generateBody(input, input.prompt, call) }),
		schema: Reply,
		completion: (reply) => completionIn(reply, call, context),
		translator: () => new LineTranslator(call, context),
		format: "ndjson",
	});
};

/** `raw` has no meaning: the engine applies the chat template. */
export const describeImage: Handler<"image-to-text"> = async (
	{ image, prompt, raw: _, ...sampling },
	call,
) => {
	const messages = [{ role: "user" as const, content: captionPrompt(image, prompt) }];
	const body = chatBody({ messages, stream: false, ...sampling, reasoning_effort: null }, call);
	const reply = await postJson(call, CHAT, body, Reply);
	const { choices, usage } = completionIn(reply, call, toolContext({}, call));
	return describedBy(choices[0]?.message.content, usage, call);
};
