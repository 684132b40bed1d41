/** OpenAI's chat completions as documented, as far as these tests go (https://platform.openai.com/docs/api-reference/chat). */
import * as z from "zod";
import type { Asked, Said } from "./asked.ts";
import { pieces, type Turn, think } from "./mind.ts";

export const OPENAI_KEY = "sk-openai-test";

const Request = z.strictObject({
	model: z.string().regex(/^[a-z0-9.-]+$/),
	messages: z
		.array(
			z.strictObject({ role: z.enum(["system", "developer", "user", "assistant"]), content: z.string() }),
		)
		.min(1),
	stream: z.boolean().optional(),
	stream_options: z.strictObject({ include_usage: z.boolean() }).optional(),
	max_completion_tokens: z.int().min(1).optional(),
	temperature: z.number().optional(),
});

const USAGE = { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 };

export function openai({ path, headers, body }: Pick<Asked, "path" | "headers" | "body">): Said {
	if (headers.authorization !== `Bearer ${OPENAI_KEY}`)
		return refusal(401, "Incorrect API key provided", "invalid_api_key");
	if (path !== "/v1/chat/completions") return refusal(404, `Invalid URL (POST ${path})`, null);
	const { data, error } = Request.safeParse(body);
	if (!data) return refusal(400, z.prettifyError(error), null);
	const turns = data.messages.map(
		({ role, content }): Turn => ({
			role: role === "user" || role === "assistant" ? role : "system",
			text: content,
			results: [],
		}),
	);
	const { text } = think({ turns, tools: [], choice: "auto", json: false });
	const head = { id: "chatcmpl-1", created: 1, model: data.model };
	if (!data.stream) {
		const choices = [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }];
		return { json: { ...head, object: "chat.completion", choices, usage: USAGE } };
	}
	const chunk = (fields: object) =>
		`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", ...fields })}\n\n`;
	const choice = (delta: object, finish_reason: string | null = null) => ({
		choices: [{ index: 0, delta, finish_reason }],
	});
	return {
		events: [
			chunk(choice({ role: "assistant", content: "" })),
			...pieces(text).map((content) => chunk(choice({ content }))),
			chunk(choice({}, "stop")),
			...(data.stream_options?.include_usage ? [chunk({ choices: [], usage: USAGE })] : []),
			"data: [DONE]\n\n",
		],
	};
}

const refusal = (status: number, message: string, code: string | null): Said => ({
	status,
	json: { error: { message, type: "invalid_request_error", param: null, code } },
});
