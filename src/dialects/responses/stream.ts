/**
 * A chat stream to OpenAI's Responses events (platform.openai.com/docs/api-reference/responses-streaming), in their
 * order: an item is added, its parts are written and done, the item is done; `sequence_number` counts the events.
 *
 * Items are written one after the other. Engines may write several calls in turns: a call that begins before the one
 * before it is complete JSON waits until that one is, or until the model finishes. As at OpenAI there is no `[DONE]`, and a failure is an `error` event and then `response.failed`:
 * some clients know only the one, some only the other. Its `error` is written twice too, as OpenAI documents it
 * (flat) and as OpenAI sends it (nested), which is what the Python SDK looks at.
 */
import { AiError } from "../../core/errors.ts";
import { parseJson } from "../../core/json.ts";
import { laterUsage, type Usage } from "../../core/usage.ts";
import { mapEvents, namedFrame } from "../../streams/sse.ts";
import type { ChatChunk, ToolCallDelta } from "../../tasks/text-generation/types.ts";
import { firstChoice, parseChunk, reasoningOf, toolCallPieces } from "../chat/chunks.ts";
import type { WriteContext } from "../dialect.ts";
import { responsesError } from "./errors.ts";
import {
	type CallItem,
	type Logprob,
	type MessageItem,
	newCall,
	newCallId,
	newMessage,
	newPart,
	newReasoning,
	type OutputItem,
	type Part,
	type ReasoningItem,
	readLogprobs,
	setArguments,
} from "./items.ts";
import { cutOf, type Outcome, type ResponseObject, responseObject, UNFINISHED } from "./reply.ts";
import type { ResponsesRequest } from "./request.ts";
import { type ToolName, toolNames } from "./tool-names.ts";

/** Takes over `source`, a hub stream. */
export function responseEvents(
	source: ReadableStream<Uint8Array>,
	context: WriteContext,
): ReadableStream<Uint8Array> {
	const events = new ResponseEvents(context);
	return mapEvents(source, {
		onData: (data, value) => {
			const chunk = parseChunk(data, value);
			return chunk === "done" ? events.finish() : events.add(chunk);
		},
		onEnd: () => events.end(),
		onError: (error) => events.fail(error),
	});
}

interface OpenCall {
	item: CallItem;
	/** The arguments so far. */
	text: string;
	/** Characters of them that are in events. */
	written: number;
}

/** Whether arguments are whole. Most fragments are not looked at twice: an object ends with a brace. */
const isComplete = (text: string): boolean => text.trimEnd().endsWith("}") && parseJson(text) !== undefined;

/** The response so far. Each method takes what has come and returns the events that it makes. */
class ResponseEvents {
	readonly #context: WriteContext;
	readonly #output: OutputItem[] = [];
	/** The last part of the one reasoning or message item that is open. */
	#writing: { item: ReasoningItem | MessageItem; part: Part } | undefined;
	readonly #calls: OpenCall[] = [];
	/** The first call that is not done. */
	#current = 0;
	readonly #names: ReadonlyMap<string, ToolName>;
	readonly #pieceOf: ReturnType<typeof toolCallPieces>;
	#eventCount = 0;
	#finishReason: string | undefined;
	#usage: Usage | undefined;
	#ended = false;

	constructor(context: WriteContext) {
		this.#context = context;
		this.#names = toolNames((context.inputs as ResponsesRequest).tools); // the reader of this dialect parsed it
		this.#pieceOf = toolCallPieces(() => newCallId(context.uuid));
	}

	add(chunk: ChatChunk): string {
		if (this.#ended) return "";
		let out = this.#begin();
		this.#usage = laterUsage(this.#usage, chunk.usage);
		const choice = firstChoice(chunk);
		if (!choice) return out;
		const { delta, finish_reason } = choice;
		const thoughts = reasoningOf(delta);
		if (thoughts) out += this.#write("reasoning_text", thoughts);
		if (delta.content) out += this.#write("output_text", delta.content, readLogprobs(choice.logprobs));
		if (delta.refusal) out += this.#write("refusal", delta.refusal);
		for (const call of delta.tool_calls ?? []) out += this.#call(call);
		if (finish_reason === "error") return out + this.end();
		this.#finishReason = finish_reason ?? this.#finishReason;
		return out;
	}

	finish(): string {
		if (this.#ended) return "";
		let out = this.#begin();
		const cut = cutOf(this.#finishReason);
		const hasAnswer = this.#calls.length > 0 || this.#output.some(({ type }) => type !== "reasoning");
		if (!cut && !hasAnswer) out += this.#open("output_text");
		const open = this.#calls.slice(this.#current);
		const last = open.at(-1)?.item ?? this.#output.at(-1);
		const statusOf = (item: OutputItem) => (cut && item === last ? "incomplete" : "completed");
		if (this.#writing) out += this.#closeWriting(statusOf(this.#writing.item));
		for (const call of open) out += this.#writeCall(call) + this.#closeCall(call, statusOf(call.item));
		this.#ended = true;
		return out + this.#lifecycle(cut ? "incomplete" : "completed", { cut });
	}

	/** Nothing more will come. If that is before {@link finish}, what was said must not look whole. */
	end(): string {
		return this.fail(new AiError("executionFailed", UNFINISHED));
	}

	fail(failure: AiError): string {
		if (this.#ended) return "";
		const begun = this.#begin();
		this.#ended = true;
		for (const item of this.#output) if (item.status === "in_progress") item.status = "incomplete";
		const error = responsesError(failure, this.#context.requestId);
		const flat = { ...error, param: null };
		return (
			begun +
			this.#event("error", { ...flat, error: { type: error.code, ...flat } }) +
			this.#lifecycle("failed", { error })
		);
	}

	#begin(): string {
		return this.#eventCount > 0 ? "" : this.#lifecycle("created") + this.#lifecycle("in_progress");
	}

	#write(type: Part["type"], delta: string, logprobs: Logprob[] = []): string {
		let out = "";
		if (this.#writing?.part.type !== type) out += this.#open(type);
		if (!this.#writing) return out;
		const { item, part } = this.#writing;
		if (part.type === "refusal") part.refusal += delta;
		else part.text += delta;
		if (part.type === "output_text") part.logprobs.push(...logprobs);
		const more = part.type === "output_text" ? { delta, logprobs } : { delta };
		return out + this.#event(`response.${type}.delta`, { ...this.#partPlace(item), ...more });
	}

	/** A new part, in the open item if that can hold it. */
	#open(type: Part["type"]): string {
		let out = "";
		let item = this.#writing?.item;
		if (item?.type === (type === "reasoning_text" ? "reasoning" : "message")) out += this.#closePart();
		else {
			out += this.#closeWriting() + this.#closeCompleteCalls();
			const { uuid } = this.#context;
			item = type === "reasoning_text" ? newReasoning(uuid) : newMessage(uuid);
			out += this.#add(item);
		}
		const part = newPart(type);
		const content: Part[] = item.content;
		content.push(part);
		this.#writing = { item, part };
		return out + this.#event("response.content_part.added", { ...this.#partPlace(item), part });
	}

	#call(delta: ToolCallDelta): string {
		// Some engines end a call with a delta of nothing.
		if (!delta.function?.name && !delta.function?.arguments) return "";
		const { index, start, arguments: fragment } = this.#pieceOf(delta);
		let out = "";
		if (start) {
			out += this.#closeWriting();
			this.#calls[index] = {
				item: newCall(this.#context.uuid, start, this.#names),
				text: "",
				written: 0,
			};
		}
		const call = this.#calls[index];
		if (call) call.text += fragment;
		return out + this.#writeCalls();
	}

	/** What can be written of the calls. A call that another follows is done as soon as its arguments are. */
	#writeCalls(): string {
		let out = "";
		for (;;) {
			const call = this.#calls[this.#current];
			if (!call) return out;
			out += this.#writeCall(call);
			if (!this.#calls[this.#current + 1] || !isComplete(call.text)) return out;
			out += this.#closeCall(call);
		}
	}

	/** Of calls that text follows. */
	#closeCompleteCalls(): string {
		const call = this.#calls[this.#current];
		return call && isComplete(call.text) ? this.#closeCall(call) : "";
	}

	#writeCall(call: OpenCall): string {
		const { item, text, written } = call;
		let out = "";
		if (!this.#output.includes(item)) out += this.#add(item);
		// The input of a custom tool can be read when its JSON is whole.
		if (item.type === "custom_tool_call" || written === text.length) return out;
		call.written = text.length;
		setArguments(item, text);
		const fragment = { ...this.#place(item), delta: text.slice(written) };
		return out + this.#event("response.function_call_arguments.delta", fragment);
	}

	#closeCall({ item, text }: OpenCall, status: OutputItem["status"] = "completed"): string {
		this.#current++;
		const place = this.#place(item);
		setArguments(item, text);
		if (item.type === "function_call")
			return (
				this.#event("response.function_call_arguments.done", { ...place, arguments: item.arguments }) +
				this.#done(item, status)
			);
		const { input } = item;
		return (
			(input && this.#event("response.custom_tool_call_input.delta", { ...place, delta: input })) +
			this.#event("response.custom_tool_call_input.done", { ...place, input }) +
			this.#done(item, status)
		);
	}

	#add(item: OutputItem): string {
		const output_index = this.#output.push(item) - 1;
		return this.#event("response.output_item.added", { output_index, item });
	}

	#done(item: OutputItem, status: OutputItem["status"]): string {
		item.status = status;
		const output_index = this.#output.indexOf(item);
		return this.#event("response.output_item.done", { output_index, item });
	}

	#closeWriting(status: OutputItem["status"] = "completed"): string {
		if (!this.#writing) return "";
		const { item } = this.#writing;
		return this.#closePart() + this.#done(item, status);
	}

	#closePart(): string {
		if (!this.#writing) return "";
		const { item, part } = this.#writing;
		this.#writing = undefined;
		const place = this.#partPlace(item);
		return (
			this.#event(`response.${part.type}.done`, { ...place, ...wholeOf(part) }) +
			this.#event("response.content_part.done", { ...place, part })
		);
	}

	#place(item: OutputItem): { item_id: string; output_index: number } {
		return { item_id: item.id, output_index: this.#output.indexOf(item) };
	}

	#partPlace(item: ReasoningItem | MessageItem): object {
		return { ...this.#place(item), content_index: item.content.length - 1 };
	}

	#lifecycle(
		event: "created" | ResponseObject["status"],
		outcome: Pick<Outcome, "cut" | "error"> = {},
	): string {
		const status = event === "created" ? "in_progress" : event;
		const made = { status, output: this.#output, usage: this.#usage, ...outcome };
		return this.#event(`response.${event}`, { response: responseObject(this.#context, made) });
	}

	#event(type: string, fields: object): string {
		return namedFrame(type, { type, sequence_number: this.#eventCount++, ...fields });
	}
}

/** What a part's own `done` event says of it. */
function wholeOf(part: Part): object {
	if (part.type === "output_text") return { text: part.text, logprobs: part.logprobs };
	return part.type === "refusal" ? { refusal: part.refusal } : { text: part.text };
}
