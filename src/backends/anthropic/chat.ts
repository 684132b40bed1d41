/** Text generation: one `POST /v1/messages`. */
import type { Answer } from "../../tasks/task.ts";
import type { ChatInput } from "../../tasks/text-generation/types.ts";
import { postJson } from "../transport/http.ts";
import { postTranslated } from "../transport/translated-stream.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { completionOf, MessageReply } from "./reply.ts";
import { requestOf } from "./request.ts";
import { MessageTranslator } from "./stream.ts";

const PATH = "/v1/messages";

export async function generateText(input: ChatInput, call: Call): Promise<Answer<"text-generation">> {
	const { body, ...form } = requestOf(input, call);
	if (!input.stream) {
		const reply = await postJson(call, PATH, body, MessageReply);
		return { kind: "value", output: completionOf(reply, form, call) };
	}
	const translator = new MessageTranslator(call, form);
	const reply = await postTranslated(call, PATH, body, { schema: MessageReply, translator });
	if (reply.kind === "stream") return reply;
	return { kind: "value", output: completionOf(reply.value, form, call) };
}
