/**
 * Replies as OpenAI's events: the role, one event per token, the finish reason, then usage alone. Events are made
 * on demand: nothing is buffered for a slow reader, and nothing is made after a cancellation.
 */
import { AiError } from "../../core/errors.ts";
import type { Usage } from "../../core/usage.ts";
import { DONE, frame } from "../../streams/sse.ts";
import type { Progress } from "../../tasks/task.ts";
import type { ChatChunk, ChatDelta, ChatInput } from "../../tasks/text-generation/types.ts";
import { StreamProgress } from "../transport/progress.ts";
import type { Generated } from "./generation.ts";
import { logprobsOf } from "./logprobs.ts";

type Head = Pick<ChatChunk, "id" | "created" | "model"> & { system_fingerprint: string };

/** The choices one after the other, as engines that batch may send them; clients go by `index`. */
export function* chunks(
	head: Head,
	choices: Generated[],
	usage: Usage,
	input: ChatInput,
): Generator<ChatChunk> {
	const chunk = (
		index: number,
		delta: ChatDelta,
		finish_reason: string | null = null,
		logprobs: unknown = null,
		stop: { stop_reason?: string } = {},
	): ChatChunk => ({
		...head,
		object: "chat.completion.chunk",
		choices: [{ index, delta, logprobs, finish_reason, ...stop }],
	});
	for (const [index, { reasoning, content, calls, finish_reason, stopSequence }] of choices.entries()) {
		yield chunk(index, { role: "assistant", content: "" });
		for (const token of reasoning ?? []) yield chunk(index, { reasoning_content: token });
		for (const token of content) yield chunk(index, { content: token }, null, logprobsOf(input, [token]));
		for (const [position, { id, name, arguments: args }] of calls.entries()) {
			yield chunk(index, {
				tool_calls: [{ index: position, id, type: "function", function: { name, arguments: "" } }],
			});
			for (const token of args)
				yield chunk(index, { tool_calls: [{ index: position, function: { arguments: token } }] });
		}
		const stop = stopSequence === undefined ? {} : { stop_reason: stopSequence };
		yield chunk(index, {}, finish_reason, null, stop);
	}
	yield { ...head, object: "chat.completion.chunk", choices: [], usage };
}

/** One event per pull. The reader may cancel at any time; an aborted `signal` errors the stream. */
export function eventStream(
	chunks: Generator<ChatChunk>,
	signal: AbortSignal,
): { events: ReadableStream<Uint8Array>; progress: Progress } {
	const encoder = new TextEncoder();
	const progress = new StreamProgress();
	let done = false;
	const events = new ReadableStream<Uint8Array>(
		{
			pull(controller) {
				if (signal.aborted) {
					chunks.return(undefined);
					return controller.error(new AiError("aborted"));
				}
				if (done) return controller.close();
				const next = chunks.next();
				done = next.done === true;
				if (!next.done) progress.addChunk(next.value);
				controller.enqueue(encoder.encode(next.done ? DONE : frame(next.value)));
			},
			cancel() {
				chunks.return(undefined);
			},
		},
		{ highWaterMark: 0 },
	);
	return { events, progress };
}
