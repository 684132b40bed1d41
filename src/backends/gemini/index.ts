/** Google's Gemini API: https://ai.google.dev/api. */
import { requestChat } from "../completion.ts";
import { defineBackend, type Handler } from "../handler.ts";
import { toolContext } from "../openai/reply/sent-calls.ts";
import { withoutDefaults } from "../own-models.ts";
import { embedTexts } from "./embeddings.ts";
import { generateImage } from "./images.ts";
import { completionOf, GenerateReply } from "./reply.ts";
import { requestBody } from "./request.ts";
import { googleCall, pathOf } from "./service.ts";
import { GeminiTranslator } from "./stream.ts";

/** https://ai.google.dev/api/generate-content */
const generateText: Handler<"text-generation"> = async (sent, call) => {
	const input = withoutDefaults(sent, call);
	const seals = await call.seals?.();
	const form = { call, seals, context: toolContext(input, call), search: input.web_search };
	return requestChat(call, input, {
		path: pathOf(call, input.stream ? "streamGenerateContent?alt=sse" : "generateContent"),
		body: requestBody(input, call, seals),
		schema: GenerateReply,
		completion: (reply) => completionOf(reply, form),
		translator: () => new GeminiTranslator(form, input.n),
	});
};

export const gemini = defineBackend(
	{ "text-generation": generateText, "text-embeddings": embedTexts, "text-to-image": generateImage },
	googleCall,
);
