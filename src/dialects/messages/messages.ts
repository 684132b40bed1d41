/**
 * Anthropic's Messages dialect, for `POST /ai/v1/messages` on every chat model. In the product the route exists only for
 * third-party models.
 */
import { chatCall, chatReply } from "../chat/call.ts";
import { unfinishedAnswer } from "../chat/events.ts";
import type { Dialect } from "../dialect.ts";
import { Message, messageOf } from "./reply.ts";
import { type MessagesRequest, messagesSchema, readRequest } from "./request.ts";
import { messageEvents } from "./stream.ts";

export const anthropicMessages: Dialect = {
	reader: {
		schema: messagesSchema,
		read: (request: MessagesRequest, model) => chatCall(readRequest(request, model)),
	},
	writer: {
		schema: Message,
		write(answer, context) {
			const reply = chatReply(answer, context);
			if (reply.kind === "stream") return { kind: "events", events: messageEvents(reply.events, context) };
			if (reply.completion.choices[0]?.finish_reason === "error") throw unfinishedAnswer();
			return { kind: "json", value: messageOf(reply.completion, context) };
		},
	},
};
