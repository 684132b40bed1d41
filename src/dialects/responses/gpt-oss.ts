/**
 * The native dialect of the gpt-oss models: either a Responses body (`input`) or a chat body (`messages`, `prompt`). The
 * answer has the form of the request.
 *
 * Known difference: `stream: true` always streams; the product may answer with plain JSON.
 */
import * as z from "zod";
import { nativeReader } from "../chat/native-read.ts";
import { OpenAiCompletion, openAiWriter } from "../chat/openai-write.ts";
import type { NativeWriter, Reader } from "../dialect.ts";
import { perModel } from "../fields.ts";
import { ResponseObject } from "./reply.ts";
import { ResponsesRequest } from "./request.ts";
import { responses } from "./responses.ts";

const isResponsesBody = (inputs: object): boolean => "input" in inputs;

// In OpenAI's API `prompt` is the id of a stored prompt. For this model it is the text to continue.
const ResponsesBranch = ResponsesRequest.omit({ prompt: true });

export const gptOssReader: Reader = {
	schema: perModel((model, strict) => {
		const chat = nativeReader.schema(model, strict);
		// One flat union, because an error message lists only the options of the outer union.
		return z.xor([...(chat instanceof z.ZodXor ? chat.options : [chat]), ResponsesBranch]);
	}),
	read: (inputs: object, model) =>
		(isResponsesBody(inputs) ? responses.reader : nativeReader).read(inputs as never, model),
};

export const gptOssWriter: NativeWriter = {
	schema: z.union([ResponseObject, OpenAiCompletion()]),
	write(answer, context) {
		const writer = isResponsesBody(context.inputs as object) ? responses.writer : openAiWriter;
		return writer.write(answer, context);
	},
};
