/**
 * The native dialect of models that take either a Responses body (`input`) or a chat body: gpt-oss, and OpenAI's models with both
 * request formats. The answer has the form of the request.
 *
 * Known difference of gpt-oss: `stream: true` always streams; the product may answer with plain JSON.
 */
import * as z from "zod";
import { nativeReader } from "../chat/native-read.ts";
import { openAiReader } from "../chat/openai-route.ts";
import { OpenAiCompletion, openAiWriter } from "../chat/openai-write.ts";
import type { NativeWriter, Reader } from "../dialect.ts";
import { perModel } from "../fields.ts";
import { ResponseObject } from "./reply.ts";
import { ResponsesRequest } from "./request.ts";
import { responses } from "./responses.ts";

const isResponsesBody = (inputs: object): boolean => "input" in inputs;

// In OpenAI's API `prompt` is the id of a stored prompt. For gpt-oss it is the text to continue.
const ResponsesBranch = ResponsesRequest.omit({ prompt: true });

const chatOrResponses = (chatReader: Reader): Reader => ({
	schema: perModel((model, strict) => {
		const chat = chatReader.schema(model, strict);
		// One flat union, because an error message lists only the options of the outer union.
		return z.xor([...(chat instanceof z.ZodXor ? chat.options : [chat]), ResponsesBranch]);
	}),
	read: (inputs: object, model) =>
		(isResponsesBody(inputs) ? responses.reader : chatReader).read(inputs as never, model),
});

export const gptOssReader = chatOrResponses(nativeReader);
export const openAiOrResponsesReader = chatOrResponses(openAiReader);

export const chatOrResponsesWriter: NativeWriter = {
	schema: z.union([ResponseObject, OpenAiCompletion()]),
	write(answer, context) {
		const writer = isResponsesBody(context.inputs as object) ? responses.writer : openAiWriter;
		return writer.write(answer, context);
	},
};
