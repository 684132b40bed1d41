/**
 * A chat stream to OpenAI's Responses events (platform.openai.com/docs/api-reference/responses-streaming), in their
 * order: an item is added, its parts are written and done, the item is done; `sequence_number` counts the events.
 *
 * Thoughts and text are written one after the other. Calls stay open until the model finishes, since engines may write
 * several in turns. As at OpenAI there is no `[DONE]`, and a failure is an `error` event and then `response.failed`:
 * some clients know only the one, some only the other. Its `error` is written twice too, as OpenAI documents it
 * (flat) and as OpenAI sends it (nested), which is what the Python SDK looks at.
 */
import { AiError } from "../../errors.ts";
import { mapEvents, namedFrame } from "../../sse.ts";
import type { ChatChunk, ToolCallDelta, Usage } from "../../tasks/text-generation.ts";
import { laterUsage } from "../../tasks/usage.ts";
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
} from "./items.ts";
import { cutOf, type Outcome, type ResponseObject, responseObject, UNFINISHED } from "./reply.ts";

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

/** The response so far. Each method takes what has come and returns the events that it makes. */
class ResponseEvents {
	readonly #context: WriteContext;
	readonly #output: OutputItem[] = [];
	/** The last part of the one reasoning or message item that is open. */
	#writing: { item: ReasoningItem | MessageItem; part: Part } | undefined;
	readonly #calls: CallItem[] = [];
	readonly #pieceOf: ReturnType<typeof toolCallPieces>;
	#eventCount = 0;
	#finishReason: string | undefined;
	#usage: Usage | undefined;
	#ended = false;

	constructor(context: WriteContext) {
		this.#context = context;
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
		if (!cut && this.#output.every(({ type }) => type === "reasoning")) out += this.#open("output_text");
		const last = this.#output.at(-1);
		for (const item of this.#output)
			if (item.status === "in_progress")
				out += this.#close(item, cut && item === last ? "incomplete" : "completed");
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
			out += this.#closeWriting();
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
			const begun = newCall(this.#context.uuid, start.id, start.name);
			this.#calls[index] = begun;
			out += this.#add(begun);
		}
		const item = this.#calls[index];
		if (!item || !fragment) return out;
		item.arguments += fragment;
		const place = this.#place(item);
		return out + this.#event("response.function_call_arguments.delta", { ...place, delta: fragment });
	}

	#add(item: OutputItem): string {
		const output_index = this.#output.push(item) - 1;
		return this.#event("response.output_item.added", { output_index, item });
	}

	#close(item: OutputItem, status: OutputItem["status"]): string {
		let out = "";
		const place = this.#place(item);
		if (item.type === "function_call")
			out += this.#event("response.function_call_arguments.done", { ...place, arguments: item.arguments });
		else out += this.#closePart();
		item.status = status;
		return out + this.#event("response.output_item.done", { output_index: place.output_index, item });
	}

	#closeWriting(): string {
		return this.#writing ? this.#close(this.#writing.item, "completed") : "";
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
