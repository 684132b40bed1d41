/**
 * Converts the replies of chat models to `run`, and their stream frames, to OpenAI's format: `{response}` of the older
 * models, `chat.completion` of the newer ones, `text_completion` for a prompt. In a stream of the newer models the last
 * frame, which is native, has the correct usage: the chunk before it may have zeros.
 *
 * The older models have no finish reason: it is `length` if the output has `max_tokens` tokens. Thoughts stay in the text.
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import { laterUsage, SentUsage, type Usage, usageOf } from "../../core/usage.ts";
import type { ChatChunk, ChatCompletion, ChatDelta, ChatInput } from "../../tasks/text-generation/types.ts";
import { ChunkWriter, completionOf, headingOf } from "../completion.ts";
import { ChatCompletionReply, completion, toolContext } from "../openai/reply/chat-reply.ts";
import { readToolCalls } from "../openai/reply/sent-calls.ts";
import { ToolCallAssembler } from "../openai/reply/tool-calls.ts";
import type { Translator, UpstreamEvent } from "../transport/translated-stream.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { eventIn } from "./run.ts";

const TextChoice = z.looseObject({
	index: z.number().nullish(),
	text: z.string(),
	finish_reason: z.string().nullish(),
});
const TextCompletionReply = z.looseObject({
	choices: z.array(TextChoice).min(1),
	usage: SentUsage.nullish(),
});

/** `{name, arguments}` or OpenAI's form; arguments are text or an object. In a stream, parts of it. */
const SentCalls = z.array(z.unknown()).nullish();

const TextResponse = z
	.looseObject({
		/** Text; an object in JSON mode; `null` or nothing beside calls. */
		response: z.unknown().optional(),
		tool_calls: SentCalls,
		usage: SentUsage.nullish(),
	})
	.refine((reply) => "response" in reply || reply.tool_calls?.length);

export const NativeReply = z.union([TextCompletionReply, ChatCompletionReply, TextResponse]);
type NativeReply = z.output<typeof NativeReply>;

export function nativeCompletion(reply: NativeReply, input: ChatInput, call: Call): ChatCompletion {
	const usage = usageWithoutPrice(reply.usage as z.output<typeof SentUsage> | null | undefined);
	if (isChat(reply)) return { ...completion(reply, call, input), ...(usage && { usage }) };
	const heading = headingOf(call);
	if (isTextCompletion(reply))
		return {
			...heading,
			object: "chat.completion",
			choices: reply.choices.map(({ index, text, finish_reason }, place) => ({
				index: index ?? place,
				message: { role: "assistant", content: text },
				finish_reason: finish_reason || "stop",
			})),
			...(usage && { usage }),
		};
	const { response, tool_calls } = reply as z.output<typeof TextResponse>;
	const calls = readToolCalls(tool_calls ?? [], toolContext(input, call));
	const message = {
		content: contentOf(response) || (calls.length > 0 ? null : ""),
		...(calls.length > 0 && { tool_calls: calls }),
	};
	const finish_reason = finishReason(calls.length > 0, usage, input);
	return completionOf(heading, { message, finish_reason }, usage);
}

function isChat(reply: NativeReply): reply is z.output<typeof ChatCompletionReply> {
	const first: unknown = Array.isArray(reply.choices) ? reply.choices[0] : undefined;
	return isRecord(first) && "message" in first;
}

const isTextCompletion = (reply: NativeReply): reply is z.output<typeof TextCompletionReply> =>
	Array.isArray(reply.choices);

const contentOf = (response: unknown): string =>
	typeof response === "string" ? response : response == null ? "" : JSON.stringify(response);

function finishReason(hasCalls: boolean, usage: Usage | undefined, { max_tokens }: ChatInput): string {
	if (hasCalls) return "tool_calls";
	const full = max_tokens !== undefined && usage !== undefined && usage.completion_tokens >= max_tokens;
	return full ? "length" : "stop";
}

/** Removes the upstream's price: the caller's account pays another one. */
export function usageWithoutPrice(sent: z.output<typeof SentUsage> | null | undefined): Usage | undefined {
	const usage = usageOf(sent);
	if (!usage) return undefined;
	const { neurons: _, ...counts } = usage as Usage & { neurons?: unknown };
	return counts;
}

const FrameChoice = z.looseObject({
	index: z.number().nullish(),
	delta: z.looseObject({}).nullish(),
	text: z.string().nullish(),
	finish_reason: z.string().nullish(),
});
const Frame = z.looseObject({
	id: z.string().nullish(),
	created: z.number().nullish(),
	model: z.string().nullish(),
	choices: z.array(FrameChoice).nullish(),
	response: z.unknown().optional(),
	tool_calls: SentCalls,
	usage: SentUsage.nullish(),
});
type Frame = z.output<typeof Frame>;

export class NativeTranslator implements Translator {
	done = false;
	readonly #input: ChatInput;
	readonly #call: Call;
	#chunks: ChunkWriter | undefined;
	#usage: Usage | undefined;
	readonly #begun = new Set<number>();
	readonly #finished = new Set<number>();
	readonly #calls: ToolCallAssembler;

	constructor(input: ChatInput, call: Call) {
		this.#input = input;
		this.#call = call;
		this.#calls = new ToolCallAssembler(toolContext(input, call));
	}

	readDone(): void {
		this.done = true;
	}

	translate({ data }: UpstreamEvent): ChatChunk[] {
		const frame = Frame.parse(eventIn(data, this.#call));
		this.#usage = laterUsage(this.#usage, usageWithoutPrice(frame.usage));
		const writer = this.#writer(frame);
		if (frame.choices) return frame.choices.map((choice, place) => this.#openAiChunk(choice, place));
		const chunks = this.#nativeDeltas(frame).map((delta) => writer.chunk(delta));
		return chunks.length > 0 ? [...this.#begin(), ...chunks] : [];
	}

	end(): ChatChunk[] | undefined {
		const choices = this.#input.n ?? 1;
		if (!this.done && this.#finished.size < choices) return undefined;
		const writer = this.#writer();
		if (this.#finished.size > 0) return writer.usage(this.#usage);
		const lastCalls = this.#calls.finish().map((piece) => writer.chunk({ tool_calls: [piece] }));
		const finish_reason = finishReason(this.#calls.count > 0, this.#usage, this.#input);
		return [
			...this.#begin(),
			...lastCalls,
			writer.chunk({}, { finish_reason }),
			...writer.usage(this.#usage),
		];
	}

	/** The heading is that of the first frame. */
	#writer(frame?: Frame): ChunkWriter {
		this.#chunks ??= new ChunkWriter(headingOf(this.#call, frame), { logprobs: null });
		return this.#chunks;
	}

	/** The chunk with the role, unless the upstream has sent it. */
	#begin(): ChatChunk[] {
		if (this.#begun.has(0)) return [];
		this.#begun.add(0);
		return this.#writer().begin();
	}

	/** A choice that is in OpenAI's format already. */
	#openAiChunk(
		{ index, delta, text, finish_reason, ...choice }: z.output<typeof FrameChoice>,
		place: number,
	): ChatChunk {
		const at = index ?? place;
		if (finish_reason) this.#finished.add(at);
		const role = text != null && !this.#begun.has(at) ? { role: "assistant" } : {};
		this.#begun.add(at);
		const message: ChatDelta = text == null ? { ...delta } : { ...role, content: text };
		const sent = { ...choice, index: at, delta: message, finish_reason: finish_reason || null };
		return { ...this.#writer().chunk({}), choices: [sent] };
	}

	#nativeDeltas({ response, tool_calls }: Frame): ChatDelta[] {
		const content = contentOf(response);
		const pieces = this.#calls.add(tool_calls ?? []);
		const calls = pieces.map((piece) => ({ tool_calls: [piece] }));
		return content ? [{ content }, ...calls] : calls;
	}
}
