/** The answer `Hello` of each API, with any usage. */
import type { PROVIDER_REPLIES, ProviderReply } from "./provider-cases.ts";

/** Absent: the count is not sent. */
interface SentCounts {
	input?: unknown;
	output?: unknown;
}

/** @param usage in the place of the object with the counts. */
type CountedReply = (counts: SentCounts, usage?: unknown) => ProviderReply;

interface CountedReplies {
	whole: CountedReply;
	streamed: CountedReply;
}

const reply = (body: unknown, type: string): ProviderReply => ({
	name: "Hello",
	body: typeof body === "string" ? body : JSON.stringify(body),
	type,
	answer: { text: "Hello", reasoning: "", calls: [], finish: "stop" },
});
const sse = (...events: ({ type?: string } & Record<string, unknown>)[]): ProviderReply =>
	reply(
		events
			.map((event) => `${event.type ? `event: ${event.type}\n` : ""}data: ${JSON.stringify(event)}\n\n`)
			.join(""),
		"text/event-stream",
	);
const json = (body: unknown): ProviderReply => reply(body, "application/json");

const messageCounts = ({ input, output }: SentCounts, usage: unknown) =>
	usage === undefined ? { input_tokens: input, output_tokens: output } : usage;
const MESSAGE = { type: "message", id: "msg_1", role: "assistant", model: "claude-opus-5-5" };

const anthropic: CountedReplies = {
	whole: (counts, usage) =>
		json({
			...MESSAGE,
			content: [{ type: "text", text: "Hello" }],
			stop_reason: "end_turn",
			usage: messageCounts(counts, usage),
		}),
	streamed: (counts, usage) =>
		sse(
			{
				type: "message_start",
				message: { ...MESSAGE, content: [], usage: messageCounts({ input: counts.input }, usage) },
			},
			{ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
			{ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello" } },
			{ type: "content_block_stop", index: 0 },
			{
				type: "message_delta",
				delta: { stop_reason: "end_turn" },
				usage: messageCounts({ output: counts.output }, usage),
			},
			{ type: "message_stop" },
		),
};

const geminiReply = (usageMetadata: unknown, finishReason?: string) => ({
	candidates: [{ index: 0, content: { role: "model", parts: [{ text: "Hello" }] }, finishReason }],
	usageMetadata,
});
const geminiCounts = ({ input, output }: SentCounts, usage: unknown) =>
	usage === undefined ? { promptTokenCount: input, candidatesTokenCount: output } : usage;

const gemini: CountedReplies = {
	whole: (counts, usage) => json(geminiReply(geminiCounts(counts, usage), "STOP")),
	streamed: (counts, usage) => sse(geminiReply(geminiCounts(counts, usage), "STOP")),
};

const ollamaLine = ({ input, output }: SentCounts) => ({
	model: "qwen3.8",
	message: { role: "assistant", content: "Hello" },
	done: true,
	done_reason: "stop",
	prompt_eval_count: input,
	eval_count: output,
});
/** The counts are no object: an odd usage is an odd count. */
const ollama: CountedReplies = {
	whole: (counts, usage) => json({ ...ollamaLine(counts), usage }),
	streamed: (counts, usage) =>
		reply(`${JSON.stringify({ ...ollamaLine(counts), usage })}\n`, "application/x-ndjson"),
};

const response = (counts: SentCounts, usage: unknown) => ({
	id: "resp_1",
	object: "response",
	model: "gpt-6.1-sol",
	status: "completed",
	output: [
		{
			type: "message",
			id: "msg_1",
			role: "assistant",
			status: "completed",
			content: [{ type: "output_text", text: "Hello", annotations: [] }],
		},
	],
	usage: messageCounts(counts, usage),
});
const responses: CountedReplies = {
	whole: (counts, usage) => json(response(counts, usage)),
	streamed: (counts, usage) =>
		sse(
			{
				type: "response.output_item.added",
				output_index: 0,
				item: { type: "message", id: "msg_1", role: "assistant", content: [] },
			},
			{ type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "Hello" },
			{ type: "response.completed", response: response(counts, usage) },
		),
};

export const COUNTED_REPLIES: Readonly<Record<keyof typeof PROVIDER_REPLIES, CountedReplies>> = {
	anthropic,
	gemini,
	ollama,
	responses,
};
