/**
 * OpenAI's Responses dialect, for `POST /ai/v1/responses` on every chat model. In the product the route exists only for
 * gpt-oss, without streams.
 */
import { chatCall, chatWriter } from "../chat/call.ts";
import type { Dialect, WriteContext } from "../dialect.ts";
import { compactionEvents, compactionOf } from "./compaction.ts";
import { responseOf } from "./reply.ts";
import { type ResponsesRequest, readRequest, responsesSchema } from "./request.ts";
import { responseEvents } from "./stream.ts";
import { requestsCompaction } from "./summary.ts";

// The reader of this dialect parsed the inputs.
const isCompaction = ({ inputs }: WriteContext): boolean =>
	requestsCompaction((inputs as ResponsesRequest).input);

export const responses: Dialect = {
	reader: {
		schema: responsesSchema,
		read: (request: ResponsesRequest, model) => chatCall(readRequest(request, model)),
	},
	writer: chatWriter({
		value: (completion, context) => (isCompaction(context) ? compactionOf : responseOf)(completion, context),
		events: (events, context) => (isCompaction(context) ? compactionEvents : responseEvents)(events, context),
	}),
};
