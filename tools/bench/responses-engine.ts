/** The answers of the bench's engine in OpenAI's Responses API: https://platform.openai.com/docs/api-reference/responses-streaming */
import { COMPLETION } from "./completion.ts";

const TEXT = COMPLETION.choices.map(({ message }) => message.content).join("");

const item = (text: string) => ({
	id: "msg_bench",
	type: "message",
	role: "assistant",
	status: "completed",
	content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
});

const response = (fields: object) => ({
	id: "resp_bench",
	object: "response",
	created_at: 1,
	model: "bench",
	error: null,
	incomplete_details: null,
	instructions: null,
	parallel_tool_calls: true,
	tool_choice: "auto",
	tools: [],
	metadata: {},
	...fields,
});

const usageOf = (output_tokens: number) => ({
	input_tokens: 20,
	input_tokens_details: { cached_tokens: 0 },
	output_tokens,
	output_tokens_details: { reasoning_tokens: 0 },
	total_tokens: 20 + output_tokens,
});

/** The same answer as `COMPLETION`. */
export const RESPONSE = response({ status: "completed", output: [item(TEXT)], usage: usageOf(6) });

/** The same text as a stream of chat chunks with these deltas. */
export function responseEvents(deltas: readonly string[]): string[] {
	const text = deltas.join("");
	const place = { item_id: "msg_bench", output_index: 0, content_index: 0 };
	const empty = { status: "in_progress", output: [], usage: null };
	const events: object[] = [
		{ type: "response.created", response: response(empty) },
		{ type: "response.in_progress", response: response(empty) },
		{
			type: "response.output_item.added",
			output_index: 0,
			item: { ...item(""), status: "in_progress", content: [] },
		},
		{ type: "response.content_part.added", ...place, part: item("").content[0] },
		...deltas.map((delta) => ({ type: "response.output_text.delta", ...place, delta, logprobs: [] })),
		{ type: "response.output_text.done", ...place, text, logprobs: [] },
		{ type: "response.content_part.done", ...place, part: item(text).content[0] },
		{ type: "response.output_item.done", output_index: 0, item: item(text) },
		{
			type: "response.completed",
			response: response({ status: "completed", output: [item(text)], usage: usageOf(deltas.length) }),
		},
	];
	return events.map((event, sequence_number) => {
		const { type } = event as { type: string };
		return `event: ${type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`;
	});
}
