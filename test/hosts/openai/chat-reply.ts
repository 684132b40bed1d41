/** Writes replies of the Chat Completions API, complete and streamed. */
import { callsOf, deltasOf, type HostReply, idOf, inputTokensOf, type Reply, textOf } from "../script.ts";

const usageOf = (reply: Reply) => ({
	prompt_tokens: inputTokensOf(reply),
	completion_tokens: 9,
	total_tokens: inputTokensOf(reply) + 9,
	prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
	completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
});

export interface ChatReplyOptions {
	model: string;
	stream: boolean;
	includeUsage: boolean;
	/** Prefix of the ids of calls. */
	callPrefix: string;
	/** Fields that the host adds to a call, by its index. */
	callFields?: (index: number) => object;
	/** Fields that the host adds to each message of a complete reply. */
	message?: object;
	/** Deltas of a stream before those of the reply. */
	firstDeltas?: readonly object[];
}

export function chatReply(reply: Exclude<Reply, { kind: "failure" }>, options: ChatReplyOptions): HostReply {
	if (options.stream) return { events: eventsOf(reply, options) };
	const { callFields, callPrefix, message, model } = options;
	const calls = callsOf(reply).map(({ input, name }, index) => ({
		...callFields?.(index),
		id: idOf(callPrefix),
		type: "function",
		function: { name, arguments: JSON.stringify(input) },
	}));
	return {
		json: {
			id: idOf("chatcmpl-"),
			object: "chat.completion",
			created: 1_795_262_400,
			model,
			choices: [
				{
					index: 0,
					message: {
						role: "assistant",
						content: calls.length > 0 ? null : textOf(reply),
						...message,
						...(calls.length > 0 && { tool_calls: calls }),
					},
					logprobs: null,
					finish_reason: calls.length > 0 ? "tool_calls" : "stop",
				},
			],
			usage: usageOf(reply),
		},
	};
}

async function* eventsOf(
	reply: Exclude<Reply, { kind: "failure" }>,
	{ callFields, callPrefix, firstDeltas = [], includeUsage, model }: ChatReplyOptions,
): AsyncGenerator<string> {
	const head = { id: idOf("chatcmpl-"), object: "chat.completion.chunk", created: 1_795_262_400, model };
	const chunk = (fields: object) => `data: ${JSON.stringify({ ...head, ...fields })}\n\n`;
	const choice = (delta: object, finish_reason: string | null = null) =>
		chunk({
			choices: [{ index: 0, delta, logprobs: null, finish_reason }],
			...(includeUsage && { usage: null }),
		});
	yield choice({ role: "assistant", content: "" });
	for (const delta of firstDeltas) yield choice(delta);
	for await (const delta of deltasOf(reply)) {
		if (delta.kind === "text") {
			yield choice({ content: delta.text });
			continue;
		}
		const { index, input, name } = delta;
		yield choice({
			tool_calls: [
				{
					index,
					id: idOf(callPrefix),
					type: "function",
					function: { name, arguments: "" },
					...callFields?.(index),
				},
			],
		});
		for (const part of halvesOf(JSON.stringify(input)))
			yield choice({ tool_calls: [{ index, function: { arguments: part } }] });
	}
	yield choice({}, reply.kind === "tools" ? "tool_calls" : "stop");
	if (includeUsage) yield chunk({ choices: [], usage: usageOf(reply) });
	yield "data: [DONE]\n\n";
}

/** Arguments arrive in parts that are no valid JSON. */
export const halvesOf = (text: string): string[] => [text.slice(0, 3), text.slice(3)];
