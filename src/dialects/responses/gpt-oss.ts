/**
 * The native dialect of the gpt-oss models: a Responses body (`input`) or a chat body (`messages`, `prompt`), never
 * two of them, and the answer in the shape of the question.
 *
 * Known difference: `stream: true` always streams; the product may answer with plain JSON.
 */
import * as z from "zod";
import { chatReaders, chatWriters } from "../chat/native.ts";
import { OpenAiCompletion } from "../chat/openai-write.ts";
import type { Reader, Writer } from "../dialect.ts";
import { perModel } from "../fields.ts";
import { ResponseObject } from "./reply.ts";
import { ResponsesRequest } from "./request.ts";
import { responses } from "./responses.ts";

const chatWriter = chatWriters["openai-chat-completion"];

const asksForResponse = (inputs: object): boolean => "input" in inputs;

// OpenAI's `prompt` (the id of a stored one) is this model's text to continue.
const ResponsesBranch = ResponsesRequest.omit({ prompt: true });

export const gptOssReader: Reader = {
	schema: perModel((model, strict) => {
		const chat = chatReaders.chat.schema(model, strict);
		// One choice among all, not a choice within a choice: refusals say which.
		return z.xor([...(chat instanceof z.ZodXor ? chat.options : [chat]), ResponsesBranch]);
	}),
	read: (inputs: object, model) =>
		(asksForResponse(inputs) ? responses.reader : chatReaders.chat).read(inputs as never, model),
};

export const gptOssWriter: Writer = {
	schema: z.union([ResponseObject, OpenAiCompletion]),
	write(answer, context) {
		const writer = asksForResponse(context.inputs as object) ? responses.writer : chatWriter;
		return writer.write(answer, context);
	},
};
