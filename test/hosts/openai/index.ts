/** OpenAI's host: its two chat APIs, and the list of models. */
import type { Host } from "../script.ts";
import { openaiChat } from "./chat.ts";
import { refusal } from "./refusals.ts";
import { openaiResponses } from "./responses.ts";

export { OPENAI_KEY } from "./refusals.ts";

export const openai: Host = (request, script) => {
	switch (`${request.method} ${request.path}`) {
		case "POST /v1/chat/completions":
			return openaiChat(request, script);
		case "POST /v1/responses":
			return openaiResponses(request, script);
		default:
			throw refusal(404, `Invalid URL (${request.method} ${request.path})`);
	}
};
