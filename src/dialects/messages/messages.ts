/**
 * Anthropic's Messages dialect, for `POST /ai/v1/messages` on every chat model. In the product the route exists only for
 * third-party models.
 */
import { chatCall, chatWriter } from "../chat/call.ts";
import type { NativeDialect } from "../dialect.ts";
import { Message, messageOf } from "./reply.ts";
import { type MessagesRequest, messagesSchema, readRequest } from "./request.ts";
import { messageEvents } from "./stream.ts";

export const anthropicMessages: NativeDialect = {
	reader: {
		schema: messagesSchema,
		read: (request: MessagesRequest, model, _strict, targets) =>
			chatCall(readRequest(request, model, targets)),
	},
	writer: { schema: Message, ...chatWriter({ value: messageOf, events: messageEvents }) },
};
