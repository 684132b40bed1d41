/**
 * OpenAI's Responses dialect, for `POST /ai/v1/responses` on every chat model. In the product the route exists only for
 * gpt-oss, without streams.
 */
import { chatCall, chatWriter } from "../chat/call.ts";
import type { Dialect } from "../dialect.ts";
import { responseOf } from "./reply.ts";
import { type ResponsesRequest, readRequest, responsesSchema } from "./request.ts";
import { responseEvents } from "./stream.ts";

export const responses: Dialect = {
	reader: {
		schema: responsesSchema,
		read: (request: ResponsesRequest, model) => chatCall(readRequest(request, model)),
	},
	writer: chatWriter({ value: responseOf, events: responseEvents }),
};
