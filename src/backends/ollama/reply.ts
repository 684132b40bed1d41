/** Converts replies and stream lines of `/api/chat` and `/api/generate` to OpenAI's format. */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import { type Usage, usageOfCounts } from "../../core/usage.ts";
import type { ChatChunk, ChatCompletion } from "../../tasks/text-generation/types.ts";
import { ChunkWriter, completionOf, type Heading, headingOf } from "../completion.ts";
import { outputState, readMessage } from "../openai/reply/message.ts";
import { readToolCalls, sentCallsOf, type ToolCallContext } from "../openai/reply/sent-calls.ts";
import { OutputCheck, refuseUnread } from "../output-state.ts";
import type { Translator, UpstreamEvent } from "../transport/translated-stream.ts";
import { type Call, failureOfBody } from "../transport/upstream-failure.ts";

const count = z.unknown().optional();

/** Read as the messages of OpenAI's engines are: servers with Ollama's API have the same differences. */
const MessageReply = z.record(z.string(), z.unknown());

/** Some servers send the message as a text, the end as a text, or OpenAI's form. */
function usualLine(sent: unknown): unknown {
	if (!isRecord(sent)) return sent;
	const { choices, message, done } = sent;
	const [choice] = Array.isArray(choices) ? (choices as unknown[]) : [];
	if (isRecord(choice)) {
		const { finish_reason } = choice;
		const end = finish_reason ? { done: true, done_reason: finish_reason } : {};
		return { ...sent, message: choice.message ?? choice.delta, ...end };
	}
	return {
		...sent,
		...(typeof message === "string" && { message: { content: message } }),
		...(typeof done === "string" && { done: done.toLowerCase() === "true" }),
	};
}

/** A complete reply, or one line of a stream. The last line of a chat may have no message. */
const Line = z.preprocess(
	usualLine,
	z.looseObject({
		created_at: z.string().nullish(),
		model: z.string().nullish(),
		message: MessageReply.nullish(),
		response: z.string().nullish(),
		thinking: z.string().nullish(),
		logprobs: z.array(z.unknown()).nullish(),
		/** Absent in complete replies of some servers. */
		done: z.boolean().nullish(),
		done_reason: z.string().nullish(),
		prompt_eval_count: count,
		eval_count: count,
	}),
);
type Line = z.output<typeof Line>;

export const Reply = Line.refine(({ message, response }) => message != null || response != null);

export function completionIn(reply: Line, call: Call, context: ToolCallContext): ChatCompletion {
	const { content, reasoning_content, tool_calls, output } = messageIn(reply, context);
	refuseUnread(call, { output, reason: sentReason(reply), sent: reply });
	const message = {
		content: content || (tool_calls.length > 0 ? null : ""),
		...(reasoning_content && { reasoning_content }),
		...(tool_calls.length > 0 && { tool_calls }),
	};
	const finish_reason = finishReason(reply, tool_calls.length > 0);
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
	readonly #context: ToolCallContext;
	#chunks: ChunkWriter | undefined;
	#calls = 0;
	readonly #check = new OutputCheck();
	#last: Line | undefined;

	constructor(call: Call, context: ToolCallContext) {
		this.#call = call;
		this.#context = context;
	}

	translate({ data }: UpstreamEvent): ChatChunk[] {
		const value: unknown = JSON.parse(data);
		if (isRecord(value) && "error" in value) throw failureOfBody(this.#call, value);
		const line = Line.parse(value);
		this.#chunks ??= new ChunkWriter(headingIn(line, this.#call));
		const chunks: ChatChunk[] = [];
		const { content, reasoning_content, tool_calls, output } = messageIn(line, this.#context);
		this.#check.add(output, line);
		const logprobs = logprobsOf(line);
		if (reasoning_content) chunks.push(this.#chunks.chunk({ reasoning_content }));
		if (content || logprobs) chunks.push(this.#chunks.chunk({ content: content ?? "" }, logprobs));
		for (const toolCall of tool_calls)
			chunks.push(this.#chunks.chunk({ tool_calls: [{ index: this.#calls++, ...toolCall }] }));
		if (chunks.length > 0) chunks.unshift(...this.#chunks.begin());
		this.done = line.done === true;
		if (!this.done) return chunks;
		this.#check.refuseUnread(this.#call, sentReason(line), line);
		this.#last = line;
		return chunks;
	}

	readDone(): void {
		this.#last ??= {};
	}

	end(): ChatChunk[] | undefined {
		if (this.#last && !this.done) this.#check.refuseUnread(this.#call, sentReason(this.#last), undefined);
		return this.#last && this.#chunks?.end(finishReason(this.#last, this.#calls > 0), usageIn(this.#last));
	}
}

/** Each line has complete calls. */
function messageIn({ message, response, thinking }: Line, context: ToolCallContext) {
	const sent = message ?? { ...(typeof response === "string" && { content: response }), thinking };
	const read = readMessage(sent);
	const { content, reasoning_content, ...fields } = read;
	const tool_calls = readToolCalls(sentCallsOf(fields), context);
	return { content, reasoning_content, tool_calls, output: outputState(read) };
}

function headingIn({ created_at, model }: Line, call: Call): Heading {
	// `NaN` for an invalid date: then the time is that of the reply.
	const created = Math.floor(Date.parse(String(created_at)) / 1000);
	return headingOf(call, { created, model });
}

/** The items have OpenAI's format. */
const logprobsOf = ({ logprobs }: Line) =>
	logprobs?.length ? { logprobs: { content: logprobs } } : undefined;

/** `load` and `unload`: the end of a request without an answer. */
const sentReason = ({ done_reason }: Line): "length" | "stop" =>
	done_reason?.toLowerCase() === "length" ? "length" : "stop";

const finishReason = (line: Line, hasCalls: boolean): string => (hasCalls ? "tool_calls" : sentReason(line));

/** Older servers omit the count of a cached prompt. */
const usageIn = ({ prompt_eval_count, eval_count }: Line): Usage | undefined =>
	usageOfCounts(prompt_eval_count, eval_count);
