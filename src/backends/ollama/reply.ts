/** Converts replies and stream lines of `/api/chat` and `/api/generate` to OpenAI's format. */
import * as z from "zod";
import type { Usage } from "../../core/usage.ts";
import type { AssistantMessage, ChatChunk, ChatCompletion } from "../../tasks/text-generation/types.ts";
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

export function completionOf(reply: Line, call: Call): ChatCompletion {
	const { content, thinking, tool_calls } = messageIn(reply);
	const calls = tool_calls?.map((sentCall) => toolCall(sentCall, call));
	const message: AssistantMessage = {
		role: "assistant",
		content: content || (calls?.length ? null : ""),
		...(thinking && { reasoning_content: thinking }),
		...(calls?.length && { tool_calls: calls }),
	};
	const logprobs = logprobsOf(reply);
	const usage = usageOf(reply);
	return {
		...heading(reply, call),
		object: "chat.completion",
		choices: [
			{
				index: 0,
				message,
				...(logprobs && { logprobs }),
				finish_reason: finishReason(reply, (calls?.length ?? 0) > 0),
			},
		],
		...(usage && { usage }),
	};
}

/** The last line has the usage. */
export class LineTranslator implements Translator {
	done = false;
	readonly #call: Call;
	#heading: ReturnType<typeof heading> | undefined;
	#calls = 0;
	#last: Line | undefined;

	constructor(call: Call) {
		this.#call = call;
	}

	translate({ data }: UpstreamEvent): ChatChunk[] {
		const value: unknown = JSON.parse(data);
		if (typeof value === "object" && value !== null && "error" in value)
			throw failureOfBody(this.#call, value);
		const line = Line.parse(value);
		const chunks: ChatChunk[] = [];
		if (!this.#heading) {
			this.#heading = heading(line, this.#call);
			chunks.push(this.#chunk({ role: "assistant", content: "" }));
		}
		const { content, thinking, tool_calls } = messageIn(line);
		const logprobs = logprobsOf(line);
		if (thinking) chunks.push(this.#chunk({ reasoning_content: thinking }));
		if (content || logprobs) chunks.push(this.#chunk({ content: content ?? "" }, logprobs));
		for (const sentCall of tool_calls ?? [])
			chunks.push(this.#chunk({ tool_calls: [{ index: this.#calls++, ...toolCall(sentCall, this.#call) }] }));
		if (line.done) {
			this.#last = line;
			this.done = true;
		}
		return chunks;
	}

	end(): ChatChunk[] | undefined {
		if (!this.#last) return undefined;
		const finish = this.#chunk({});
		const [choice] = finish.choices;
		if (choice) choice.finish_reason = finishReason(this.#last, this.#calls > 0);
		const usage = usageOf(this.#last);
		return usage ? [finish, { ...this.#chunk({}), choices: [], usage }] : [finish];
	}

	#chunk(delta: ChatChunk["choices"][number]["delta"], logprobs?: object): ChatChunk {
		const head = this.#heading ?? heading({ done: false }, this.#call);
		const choice = { index: 0, delta, finish_reason: null, ...(logprobs && { logprobs }) };
		return { ...head, object: "chat.completion.chunk", choices: [choice] };
	}
}

const messageIn = ({ message, response, thinking }: Line): Message =>
	message ?? { content: response, thinking };

function heading({ created_at, model }: Line, { target, services }: Call) {
	const created = Date.parse(created_at ?? "");
	return {
		id: `chatcmpl-${services.uuid()}`,
		created: Math.floor((Number.isNaN(created) ? services.now() : created) / 1000),
		model: model || target.model,
	};
}

const toolCall = (
	{ id, function: { name, arguments: args } }: z.output<typeof ToolCallReply>,
	{ services }: Call,
) => ({
	id: id || `call_${services.uuid()}`,
	type: "function" as const,
	function: { name, arguments: JSON.stringify(args ?? {}) },
});

/** The items have OpenAI's format. */
const logprobsOf = ({ logprobs }: Line) => (logprobs?.length ? { content: logprobs } : undefined);

/** `load` and `unload`: the end of a request without an answer. */
function finishReason({ done_reason }: Line, hasCalls: boolean): string {
	if (hasCalls) return "tool_calls";
	return done_reason === "length" ? "length" : "stop";
}

/** Older servers omit the count of a cached prompt. */
export function usageOf({ prompt_eval_count, eval_count }: Partial<Line>): Usage | undefined {
	if (prompt_eval_count == null && eval_count == null) return undefined;
	const prompt_tokens = prompt_eval_count ?? 0;
	const completion_tokens = eval_count ?? 0;
	return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}
