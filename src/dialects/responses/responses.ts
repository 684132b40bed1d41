/**
 * OpenAI's Responses dialect, for `POST /ai/v1/responses` on every chat model. In the product the route exists only for
 * gpt-oss, without streams.
 */
import { chatCall, chatReply } from "../chat/call.ts";
import type { Dialect } from "../dialect.ts";
import { ResponseObject, responseOf } from "./reply.ts";
import { type ResponsesRequest, readRequest, responsesSchema } from "./request.ts";
import { responseEvents } from "./stream.ts";

export const responses: Dialect = {
	reader: {
		schema: responsesSchema,
		read: (request: ResponsesRequest, model) => chatCall(readRequest(request, model)),
	},
	writer: {
		schema: ResponseObject,
		write(answer, context) {
			const reply = chatReply(answer, context);
			return reply.kind === "stream"
				? { kind: "events", events: responseEvents(reply.events, context) }
				: { kind: "json", value: responseOf(reply.completion, context) };
		},
	},
};
