/**
 * Google's Gemini dialect, for `…/v1beta/models/{model}:generateContent` on every chat model. The product does not
 * have it.
 */
import { chatCall, chatReply } from "../chat/call.ts";
import { unfinishedAnswer } from "../chat/events.ts";
import type { Dialect } from "../dialect.ts";
import { GenerateContentResponse, responseOf } from "./reply.ts";
import { GeminiRequest, readRequest } from "./request.ts";
import { geminiEvents } from "./stream.ts";

export const geminiContent: Dialect = {
	reader: {
		schema: () => GeminiRequest,
		read: (request: GeminiRequest, model) => chatCall(readRequest(request, model)),
	},
	writer: {
		schema: GenerateContentResponse,
		write(answer, context) {
			const reply = chatReply(answer, context);
			if (reply.kind === "stream") return { kind: "events", events: geminiEvents(reply.events, context) };
			if (reply.completion.choices.some(({ finish_reason }) => finish_reason === "error"))
				throw unfinishedAnswer();
			return { kind: "json", value: responseOf(reply.completion, context) };
		},
	},
};
