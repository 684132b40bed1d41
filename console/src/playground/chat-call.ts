/** One chat over the OpenAI-compatible API, which has the same stream for every model. */
import { EventSourceParserStream } from "eventsource-parser/stream";
import { type Api, ApiError, bodyOf, INTERRUPTED, jsonRequest } from "../api/client.ts";
import type { ChatChunk, ChatDelta, ChatRequest, ResponseUsage, ToolCall } from "../api/types.ts";
import { type Metrics, Stopwatch } from "./metrics.ts";

export interface ChatAnswer {
	text: string;
	reasoning: string;
	toolCalls: ToolCall[];
}

export const NO_ANSWER: ChatAnswer = { text: "", reasoning: "", toolCalls: [] };
const END = "[DONE]";
/** The last comment of a stream with the engine's own usage. */
const COST_COMMENT = /^ganglion neurons=([\d.]+)$/;

interface ChatCall {
	request: ChatRequest;
	signal: AbortSignal;
	/** Default: the account's chat completions. */
	path?: string;
	/** Receives the headers, and then each event with a name. */
	onHeaders?(headers: Headers): void;
	onEvent?(name: string, data: unknown): void;
	/** Receives the answer as far as it has arrived. */
	onAnswer(answer: ChatAnswer): void;
}

/** Resolves at the end of the answer. Rejects if the call fails or is aborted. */
export async function callChat(api: Api, call: ChatCall): Promise<Metrics> {
	const { path = api.account("/ai/v1/chat/completions"), request, signal, onAnswer } = call;
	const stopwatch = new Stopwatch();
	const response = await api.fetch(path, { ...jsonRequest("POST", request), signal });
	call.onHeaders?.(response.headers);
	let answer = NO_ANSWER;
	let usage: ResponseUsage | undefined;
	for await (const chunk of chunksOf(response, call.onEvent)) {
		if (chunk.error) throw new ApiError(response.status, chunk.error.message);
		usage = chunk.usage ? { ...usage, ...chunk.usage } : usage;
		const [choice] = chunk.choices ?? [];
		const delta = choice?.delta ?? choice?.message;
		if (!delta) continue;
		answer = extended(answer, delta);
		if (choice?.delta && answer !== NO_ANSWER && (answer.text || answer.reasoning)) stopwatch.text();
		onAnswer(answer);
	}
	return stopwatch.metrics(response.headers, usage);
}

/** The events of a stream, or the only object of an answer that is not streamed. */
async function* chunksOf(response: Response, onEvent: ChatCall["onEvent"]): AsyncGenerator<ChatChunk> {
	if (!response.body) return;
	if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
		yield await bodyOf(response.json());
		return;
	}
	let neurons: number | undefined;
	const onComment = (comment: string) => {
		const cost = COST_COMMENT.exec(comment.trim())?.[1];
		if (cost !== undefined) neurons = Number(cost);
	};
	const events = response.body
		.pipeThrough(new TextDecoderStream())
		.pipeThrough(new EventSourceParserStream({ onComment }));
	const reader = events.getReader();
	let isComplete = false;
	while (true) {
		const { done, value } = await bodyOf(reader.read());
		if (done) break;
		if (value.event !== undefined) onEvent?.(value.event, JSON.parse(value.data));
		else if (value.data === END) isComplete = true;
		else if (!isComplete) yield JSON.parse(value.data);
	}
	if (!isComplete) throw new ApiError(0, INTERRUPTED);
	if (neurons !== undefined) yield { usage: { neurons } };
}

const extended = ({ text, reasoning, toolCalls }: ChatAnswer, delta: ChatDelta): ChatAnswer => ({
	text: text + (delta.content ?? ""),
	reasoning: reasoning + (delta.reasoning_content ?? delta.reasoning ?? ""),
	toolCalls: withToolCalls(toolCalls, delta.tool_calls ?? []),
});

/** The name and the arguments of a call arrive in pieces, with its number. */
function withToolCalls(calls: readonly ToolCall[], pieces: NonNullable<ChatDelta["tool_calls"]>): ToolCall[] {
	const all = [...calls];
	for (const [position, piece] of pieces.entries()) {
		const index = piece.index ?? position;
		const before = all[index];
		all[index] = {
			id: before?.id ?? piece.id ?? `call-${index}`,
			type: "function",
			function: {
				name: (before?.function.name ?? "") + (piece.function?.name ?? ""),
				arguments: (before?.function.arguments ?? "") + (piece.function?.arguments ?? ""),
			},
		};
	}
	return all;
}
