/**
 * Google's Gemini dialect, for `…/v1beta/models/{model}:generateContent` on every chat model. The product does not
 * have it.
 */
import { chatCall, chatWriter } from "../chat/call.ts";
import type { Dialect } from "../dialect.ts";
import { responseOf } from "./reply.ts";
import { GeminiRequest, readRequest } from "./request.ts";
import { geminiEvents } from "./stream.ts";

export const geminiContent: Dialect = {
	reader: {
		schema: () => GeminiRequest,
		read: (request: GeminiRequest, model) => chatCall(readRequest(request, model)),
	},
	writer: chatWriter({ value: responseOf, events: geminiEvents }),
};
