/** Converts replies and stream lines of `/api/chat` and `/api/generate` to OpenAI's format. */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import { type Usage, usageOfCounts } from "../../core/usage.ts";
import type { ChatChunk, ChatCompletion } from "../../tasks/text-generation/types.ts";
import { ChunkWriter, completionOf, type Heading, headingOf } from "../completion.ts";
import type { Translator, UpstreamEvent } from "../transport/translated-stream.ts";
import { type Call, failureOfBody } from "../transport/upstream-failure.ts";

const count = z.number().nullish();

const ToolCallReply = z.looseObject({
	id: z.string().nullish(),
	function: z.looseObject({ name: z.string(), arguments: z.unknown().optional() }),
});

const MessageReply = z.looseObject({
	content: z.string().nullish(),
	thinking: z.string().nullish(),
	tool_calls: z.array(ToolCallReply).nullish(),
});

/** A complete reply, or one line of a stream. The last line of a chat may have no message. */
const Line = z.looseObject({
	created_at: z.string().nullish(),
	model: z.string().nullish(),
	message: MessageReply.nullish(),
	response: z.string().nullish(),
	thinking: z.string().nullish(),
	logprobs: z.array(z.unknown()).nullish(),
	done: z.boolean(),
	done_reason: z.string().nullish(),
	prompt_eval_count: count,
	eval_count: count,
});
type Line = z.output<typeof Line>;
type Message = z.output<typeof MessageReply>;

export const Reply = Line.refine(({ message, response }) => message != null || response != null);

export function completionIn(reply: Line, call: Call): ChatCompletion {
	const { content, thinking, tool_calls } = messageIn(reply);
	const calls = tool_calls?.map((sentCall) => toolCall(sentCall, call)) ?? [];
	const message = {
		content: content || (calls.length > 0 ? null : ""),
		...(thinking && { reasoning_content: thinking }),
		...(calls.length > 0 && { tool_calls: calls }),
	};
	const finish_reason = finishReason(reply, calls.length > 0);
	return completionOf(
		headingIn(reply, call),
		{ message, ...logprobsOf(reply), finish_reason },
		usageIn(reply),
	);
}

/** The last line has the usage. */
export class LineTranslator implements Translator {
	done = false;
	readonly #call: Call;
	#chunks: ChunkWriter | undefined;
	#calls = 0;
	#last: Line | undefined;

	constructor(call: Call) {
		this.#call = call;
	}

	translate({ data }: UpstreamEvent): ChatChunk[] {
		const value: unknown = JSON.parse(data);
		if (isRecord(value) && "error" in value) throw failureOfBody(this.#call, value);
		const line = Line.parse(value);
		this.#chunks ??= new ChunkWriter(headingIn(line, this.#call));
		const chunks = this.#chunks.begin();
		const { content, thinking, tool_calls } = messageIn(line);
		const logprobs = logprobsOf(line);
		if (thinking) chunks.push(this.#chunks.chunk({ reasoning_content: thinking }));
		if (content || logprobs) chunks.push(this.#chunks.chunk({ content: content ?? "" }, logprobs));
		for (const sentCall of tool_calls ?? []) {
			const delta = { index: this.#calls++, ...toolCall(sentCall, this.#call) };
			chunks.push(this.#chunks.chunk({ tool_calls: [delta] }));
		}
		if (line.done) this.#last = line;
		this.done = line.done;
		return chunks;
	}

	end(): ChatChunk[] | undefined {
		return this.#last && this.#chunks?.end(finishReason(this.#last, this.#calls > 0), usageIn(this.#last));
	}
}

const messageIn = ({ message, response, thinking }: Line): Message =>
	message ?? { content: response, thinking };

function headingIn({ created_at, model }: Line, call: Call): Heading {
	// `NaN` for an invalid date: then the time is that of the reply.
	const created = Math.floor(Date.parse(String(created_at)) / 1000);
	return headingOf(call, { created, model });
}

const toolCall = (
	{ id, function: { name, arguments: args } }: z.output<typeof ToolCallReply>,
	{ services }: Call,
) => ({
	id: id || `call_${services.uuid()}`,
	type: "function" as const,
	// Servers with Ollama's API may send OpenAI's form: the arguments as text.
	function: { name, arguments: typeof args === "string" ? args || "{}" : JSON.stringify(args ?? {}) },
});

/** The items have OpenAI's format. */
const logprobsOf = ({ logprobs }: Line) =>
	logprobs?.length ? { logprobs: { content: logprobs } } : undefined;

/** `load` and `unload`: the end of a request without an answer. */
function finishReason({ done_reason }: Line, hasCalls: boolean): string {
	if (hasCalls) return "tool_calls";
	return done_reason === "length" ? "length" : "stop";
}

/** Older servers omit the count of a cached prompt. */
const usageIn = ({ prompt_eval_count, eval_count }: Line): Usage | undefined =>
	usageOfCounts(prompt_eval_count, eval_count);
