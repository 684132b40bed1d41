/** Text generation: https://ai.google.dev/api/generate-content. */
import type { Answer } from "../../tasks/task.ts";
import type { ChatInput } from "../../tasks/text-generation/types.ts";
import { postJson } from "../transport/http.ts";
import { postTranslated } from "../transport/translated-stream.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { completionOf, GenerateReply } from "./reply.ts";
import { requestBody } from "./request.ts";
import { pathOf } from "./service.ts";
import { GeminiTranslator } from "./stream.ts";

export async function generateText(input: ChatInput, call: Call): Promise<Answer<"text-generation">> {
	const body = requestBody(input, call);
	if (!input.stream) {
		const reply = await postJson(call, pathOf(call, "generateContent"), body, GenerateReply);
		return { kind: "value", output: completionOf(reply, call) };
	}
	const answer = await postTranslated(call, pathOf(call, "streamGenerateContent?alt=sse"), body, {
		schema: GenerateReply,
		translator: new GeminiTranslator(call, input.n),
	});
	return answer.kind === "stream" ? answer : { kind: "value", output: completionOf(answer.value, call) };
}
