/** `/api/chat`, and `/api/generate` for a raw prompt. */
import { dataUrl } from "../../media/base64.ts";
import { typeOf } from "../../media/types.ts";
import type { DescribeImageInput } from "../../tasks/image-to-text/types.ts";
import type { Answer } from "../../tasks/task.ts";
import type { ChatInput, ContentPart } from "../../tasks/text-generation/types.ts";
import { postJson } from "../transport/http.ts";
import { postTranslated } from "../transport/translated-stream.ts";
import { type Call, failureOfContent } from "../transport/upstream-failure.ts";
import { completionOf, LineTranslator, Reply } from "./reply.ts";
import { chatBody, generateBody } from "./request.ts";

const DEFAULT_PROMPT = "Generate a caption for this image";

export async function generateText(input: ChatInput, call: Call): Promise<Answer<"text-generation">> {
	const { prompt } = input;
	const path = prompt === undefined ? "/api/chat" : "/api/generate";
	const body = prompt === undefined ? chatBody(input, call) : generateBody(input, prompt, call);
	if (!input.stream)
		return { kind: "value", output: completionOf(await postJson(call, path, body, Reply), call) };
	const translator = new LineTranslator(call);
	const reply = await postTranslated(call, path, body, { schema: Reply, translator, format: "ndjson" });
	return reply.kind === "stream" ? reply : { kind: "value", output: completionOf(reply.value, call) };
}

/** `raw` has no meaning: the engine applies the chat template. */
export async function describeImage(
	{ image, prompt, raw: _, ...sampling }: DescribeImageInput,
	call: Call,
): Promise<Answer<"image-to-text">> {
	const url = dataUrl(image.bytes, typeOf(image) ?? image.contentType ?? "image/png");
	const content: ContentPart[] = [
		{ type: "text", text: prompt ?? DEFAULT_PROMPT },
		{ type: "image_url", image_url: { url } },
	];
	const input = { messages: [{ role: "user" as const, content }], stream: false, ...sampling };
	const { choices, usage } = completionOf(
		await postJson(call, "/api/chat", chatBody({ ...input, reasoning_effort: null }, call), Reply),
		call,
	);
	const description = choices[0]?.message.content?.trim();
	if (!description) throw failureOfContent(call, "answered with no text");
	return { kind: "value", output: { description, ...(usage && { usage }) } };
}
