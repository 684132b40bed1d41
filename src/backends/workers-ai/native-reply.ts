/**
 * Converts the replies of chat models to `run`, and their stream frames, to OpenAI's format: `{response}` of the older
 * models, `chat.completion` of the newer ones, `text_completion` for a prompt. In a stream of the newer models the last
 * frame, which is native, has the correct usage: the chunk before it may have zeros.
 *
 * The older models have no finish reason: it is `length` if the output has `max_tokens` tokens. Thoughts stay in the text.
 */
import * as z from "zod";
import { laterUsage, SentUsage, type Usage, usageOf } from "../../core/usage.ts";
import type { ChatChunk, ChatCompletion, ChatDelta, ChatInput } from "../../tasks/text-generation/types.ts";
import { ChunkWriter, completionOf, headingOf } from "../completion.ts";
import { ChatEventReader, type RepairedEvent } from "../openai/reply/chat-events.ts";
import { ChatCompletionReply, completion, failureOfEvent } from "../openai/reply/chat-reply.ts";
import { readToolCalls, toolContext } from "../openai/reply/sent-calls.ts";
import { ToolCallAssembler } from "../openai/reply/tool-calls.ts";
import { type KnownFields, OutputCheck, type OutputState, refuseUnread, stateOf } from "../output-state.ts";
import type { Translator, UpstreamEvent } from "../transport/translated-stream.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { eventIn } from "./run.ts";

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

export const NativeReply = z.union([ChatCompletionReply, TextResponse]);
type NativeReply = z.output<typeof NativeReply>;

export function nativeCompletion(reply: NativeReply, input: ChatInput, call: Call): ChatCompletion {
	const usage = usageWithoutPrice(reply.usage as z.output<typeof SentUsage> | null | undefined);
	if (hasChoices(reply)) return { ...completion(reply, call, input), ...(usage && { usage }) };
	const heading = headingOf(call);
	const { response, tool_calls } = reply as z.output<typeof TextResponse>;
	const calls = readToolCalls(tool_calls ?? [], toolContext(input, call));
	const message = {
		content: contentOf(response) || (calls.length > 0 ? null : ""),
		...(calls.length > 0 && { tool_calls: calls }),
	};
	const finish_reason = finishReason(calls.length > 0, usage, input);
	refuseUnread(call, { output: nativeState(reply), reason: finish_reason, sent: reply });
	return completionOf(heading, { message, finish_reason }, usage);
}

const hasChoices = (reply: NativeReply): reply is z.output<typeof ChatCompletionReply> =>
	Array.isArray(reply.choices);

const NATIVE: KnownFields = {
	output: new Set(["response", "tool_calls"]),
	other: new Set(["id", "object", "model", "role", "name", "finish_reason", "p", "request_id"]),
};

/** What a reply, or a frame, without choices has. */
function nativeState(sent: { response?: unknown }): OutputState {
	const state = stateOf(sent, NATIVE);
	return state === "none" && "response" in sent ? "empty" : state;
}

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

const Frame = z.looseObject({
	id: z.string().nullish(),
	created: z.number().nullish(),
	model: z.string().nullish(),
	choices: z.array(z.unknown()).nullish(),
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
	readonly #finished = new Set<unknown>();
	readonly #calls: ToolCallAssembler;
	/** Reads the frames with choices. */
	readonly #choices: ChatEventReader;
	/** What the frames without choices have. */
	readonly #check = new OutputCheck();
	#hasChoices = false;

	constructor(input: ChatInput, call: Call) {
		this.#input = input;
		this.#call = call;
		const context = toolContext(input, call);
		this.#calls = new ToolCallAssembler(context);
		this.#choices = new ChatEventReader(() => context, input.n ?? 1);
	}

	readDone(): void {
		this.done = true;
	}

	translate({ data }: UpstreamEvent): ChatChunk[] {
		const frame = Frame.parse(eventIn(data, this.#call));
		this.#usage = laterUsage(this.#usage, usageWithoutPrice(frame.usage));
		const writer = this.#writer(frame);
		if (frame.choices) {
			const { usage: _, ...event } = frame;
			return this.#openAiChunks(this.#choices.read(event));
		}
		if (!this.#hasChoices) this.#check.add(nativeState(frame), frame);
		const chunks = this.#nativeDeltas(frame).map((delta) => writer.chunk(delta));
		return chunks.length > 0 ? [...writer.begin(), ...chunks] : [];
	}

	end(): ChatChunk[] | undefined {
		const choices = this.#input.n ?? 1;
		if (!this.done && this.#finished.size < choices) return undefined;
		const writer = this.#writer();
		if (this.#hasChoices) return [...this.#openAiChunks(this.#choices.end()), ...writer.usage(this.#usage)];
		const lastCalls = this.#calls.finish().map((piece) => writer.chunk({ tool_calls: [piece] }));
		const finish_reason = finishReason(this.#calls.count > 0, this.#usage, this.#input);
		this.#check.refuseUnread(this.#call, finish_reason, undefined);
		return [
			...writer.begin(),
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

	#openAiChunks(read: RepairedEvent): ChatChunk[] {
		const failure = failureOfEvent(this.#call, read);
		if (failure) throw failure;
		if (read.kind !== "chunk") return [];
		this.#hasChoices = true;
		this.#writer().hasBegun = true;
		const choices = read.chunk.choices as ChatChunk["choices"];
		for (const { index, finish_reason } of choices) if (finish_reason) this.#finished.add(index);
		return choices.length > 0 ? [{ ...this.#writer().chunk({}), choices }] : [];
	}

	#nativeDeltas({ response, tool_calls }: Frame): ChatDelta[] {
		const content = contentOf(response);
		const pieces = this.#calls.add(tool_calls ?? []);
		const calls = pieces.map((piece) => ({ tool_calls: [piece] }));
		return content ? [{ content }, ...calls] : calls;
	}
}
