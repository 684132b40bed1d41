/**
 * Converts a chat stream to OpenAI's Responses events (platform.openai.com/docs/api-reference/responses-streaming), in
 * their order: an item is added, its parts are written and done, the item is done. `sequence_number` counts the events.
 *
 * Items are written one after another, calls by `call-events.ts`. As in OpenAI's API there is no `[DONE]`. A failure is an `error`
 * event and then `response.failed`, because some clients support only one of them. The `error` event has the error twice: flat, as OpenAI
 * documents it, and nested, as OpenAI sends it and the Python SDK reads it.
 */
import type { AiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import type { ChatChunk, ToolCallDelta, WebSearchCall } from "../../tasks/text-generation/types.ts";
import { firstChoice, reasoningOf, toolCallFragments } from "../chat/chunks.ts";
import { sourcesOf } from "../chat/citations.ts";
import { writeChunks } from "../chat/events.ts";
import { sealOfBlock, sealOfField, UniqueSeals } from "../chat/sealed.ts";
import type { EventWriter, WriteContext } from "../dialect.ts";
import { CallEvents } from "./call-events.ts";
import { EventSequence } from "./event-sequence.ts";
import { applyEvent, endsCall, type OpenPart } from "./forwarded-events.ts";
import {
	type AnswerItem,
	type CallItem,
	citationsAfter,
	type Logprob,
	type MessageItem,
	newCall,
	newCallId,
	newMessage,
	newPart,
	newReasoning,
	type Part,
	type ReasoningItem,
	readLogprobs,
	sealedReasoning,
	setStatus,
} from "./items.ts";
import { incompleteReason } from "./reply.ts";
import type { ResponsesRequest } from "./request.ts";
import { type ToolName, toolNames } from "./tool-names.ts";
import { annotationsIn, searchItem } from "./web-search.ts";

export const responseEvents: EventWriter = (events, context) =>
	writeChunks(events, new ResponseEvents(context));

/** Each method returns the events to send. */
class ResponseEvents {
	readonly #uuid: () => string;
	readonly #sequence: EventSequence<AnswerItem>;
	readonly #output: readonly AnswerItem[];
	/** The open reasoning or message item, and its last part. */
	#openPart: OpenPart | undefined;
	readonly #calls: CallEvents;
	readonly #names: ReadonlyMap<string, ToolName>;
	readonly #fragmentOf: ReturnType<typeof toolCallFragments>;
	#finishReason: string | undefined;
	readonly #context: WriteContext;
	/** Those that have ended. */
	readonly #searches: WebSearchCall[] = [];
	/** Citations of the open text. Their places count from the beginning of the complete text. */
	readonly #citations: unknown[] = [];
	/** The characters of the texts that are closed. */
	#closedText = 0;
	/** OpenAI's kind of the text that follows. */
	#phase: string | undefined;
	readonly #seals = new UniqueSeals();
	/** The complete response of an upstream with this API. */
	#verbatimEnd: Record<string, unknown> | undefined;

	constructor(context: WriteContext) {
		this.#context = context;
		this.#uuid = context.uuid;
		this.#sequence = new EventSequence(context);
		this.#output = this.#sequence.output;
		this.#calls = new CallEvents(this.#sequence);
		this.#names = toolNames(context.inputs as ResponsesRequest); // the reader of this dialect parsed it
		this.#fragmentOf = toolCallFragments(() => newCallId(context.uuid));
	}

	add(chunk: ChatChunk): string {
		let out = this.#sequence.start();
		this.#sequence.addUsage(chunk.usage);
		const choice = firstChoice(chunk);
		if (!choice) return out;
		const { delta, finish_reason } = choice;
		this.#finishReason = finish_reason ?? this.#finishReason;
		if (delta.verbatim) return out + this.#forward(delta.verbatim, delta.tool_calls ?? []);
		const reasoning = reasoningOf(delta);
		if (reasoning) out += this.#write("reasoning_text", reasoning);
		for (const block of delta.thinking_blocks ?? []) out += this.#seal(sealOfBlock(block));
		if (delta.phase) this.#phase = delta.phase;
		if (delta.content) out += this.#write("output_text", delta.content, readLogprobs(choice.logprobs));
		if (delta.refusal) out += this.#write("refusal", delta.refusal);
		this.#citations.push(...(delta.annotations ?? []));
		if (delta.extra_content) out += this.#seal(sealOfField(delta.extra_content));
		for (const call of delta.tool_calls ?? []) out += this.#call(call);
		if (delta.web_search) out += this.#search(delta.web_search);
		return out;
	}

	finish(): string {
		let out = this.#sequence.start();
		if (this.#verbatimEnd) return out + this.#sequence.endVerbatim(this.#verbatimEnd);
		const incomplete = incompleteReason(this.#finishReason);
		const hasAnswer = this.#calls.count > 0 || this.#output.some(({ type }) => type !== "reasoning");
		if (!incomplete && !hasAnswer) out += this.#open("output_text");
		const last = this.#calls.lastOpen ?? this.#output.at(-1);
		const statusOf = (item: AnswerItem): MessageItem["status"] =>
			incomplete && item === last ? "incomplete" : "completed";
		if (this.#openPart) out += this.#closeItem(statusOf(this.#openPart.item));
		return out + this.#calls.finish(statusOf) + this.#sequence.end(incomplete);
	}

	fail(failure: AiError): string {
		const out = this.#sequence.start();
		for (const item of this.#output) if (item.status === "in_progress") setStatus(item, "incomplete");
		return out + this.#sequence.fail(failure);
	}

	/** Forwards the events of an upstream with this API. Their items are kept, because another engine may continue them. */
	#forward(events: readonly Record<string, unknown>[], calls: readonly ToolCallDelta[]): string {
		let out = "";
		for (const { type, sequence_number: _, ...fields } of events) {
			if (isRecord(fields.response)) this.#verbatimEnd = fields.response;
			else {
				this.#openPart = applyEvent(this.#sequence.output, this.#openPart, String(type), fields);
				if (endsCall(String(type), fields)) this.#calls.endFirst();
				out += this.#sequence.event(String(type), fields);
			}
		}
		for (const { index, start, arguments: fragment } of calls.map(this.#fragmentOf)) {
			const item = this.#output.at(-1) as CallItem; // the event before added it
			if (start) this.#calls.start(index, item);
			this.#calls.addForwarded(index, fragment);
		}
		return out;
	}

	#write(type: Part["type"], delta: string, logprobs: Logprob[] = []): string {
		let out = "";
		if (this.#openPart?.part.type !== type) out += this.#open(type);
		if (!this.#openPart) return out;
		const { item, part } = this.#openPart;
		if (part.type === "refusal") part.refusal += delta;
		else part.text += delta;
		if (part.type === "output_text") part.logprobs.push(...logprobs);
		const fields = part.type === "output_text" ? { delta, logprobs } : { delta };
		return out + this.#sequence.event(`response.${type}.delta`, { ...this.#partPosition(item), ...fields });
	}

	/** The seal ends the open reasoning item, or is an item without text. */
	#seal(sent: string): string {
		const seal = this.#seals.pass(sent);
		if (!seal) return "";
		const open = this.#openPart?.item;
		if (open?.type === "reasoning") {
			open.encrypted_content = seal;
			return this.#closeItem();
		}
		const item = sealedReasoning(this.#uuid, seal);
		return (
			this.#closeItem() +
			this.#calls.closeComplete() +
			this.#sequence.addItem(item) +
			this.#sequence.finishItem(item, "completed")
		);
	}

	/** Starts a part, in the open item if its type fits. */
	#open(type: Part["type"]): string {
		let out = "";
		let item = this.#openPart?.item;
		if (item?.type === (type === "reasoning_text" ? "reasoning" : "message")) out += this.#closePart();
		else {
			out += this.#closeItem() + this.#calls.closeComplete();
			item = type === "reasoning_text" ? newReasoning(this.#uuid) : newMessage(this.#uuid, this.#phase);
			out += this.#sequence.addItem(item);
		}
		const part = newPart(type);
		const content: Part[] = item.content;
		content.push(part);
		this.#openPart = { item, part };
		return out + this.#sequence.event("response.content_part.added", { ...this.#partPosition(item), part });
	}

	/** A search starts or ends. */
	#search(call: WebSearchCall): string {
		const item = searchItem(call, this.#context);
		const started = this.#output.find(({ id }) => id === item.id);
		if (!started) {
			const out = this.#closeItem() + this.#sequence.addItem(item);
			const position = this.#sequence.position(item);
			return (
				out +
				this.#sequence.event("response.web_search_call.in_progress", position) +
				this.#sequence.event("response.web_search_call.searching", position)
			);
		}
		this.#searches.push(call);
		Object.assign(started, item);
		return (
			this.#sequence.event("response.web_search_call.completed", this.#sequence.position(started)) +
			this.#sequence.itemDone(started)
		);
	}

	#call(delta: ToolCallDelta): string {
		// Some engines end a call with an empty delta.
		if (!delta.function?.name && !delta.function?.arguments) return "";
		const { index, start, arguments: fragment } = this.#fragmentOf(delta);
		let out = "";
		if (start) {
			out += this.#closeItem() + this.#seal(sealOfField(delta.extra_content));
			this.#calls.start(index, newCall(this.#uuid, start, this.#names));
		}
		return out + this.#calls.add(index, fragment);
	}

	#closeItem(status: MessageItem["status"] = "completed"): string {
		if (!this.#openPart) return "";
		const { item } = this.#openPart;
		return this.#closePart() + this.#sequence.finishItem(item, status);
	}

	#closePart(): string {
		if (!this.#openPart) return "";
		const { item, part } = this.#openPart;
		this.#openPart = undefined;
		const position = this.#partPosition(item);
		return (
			this.#annotate(part, position) +
			this.#sequence.event(`response.${part.type}.done`, { ...position, ...contentOf(part) }) +
			this.#sequence.event("response.content_part.done", { ...position, part })
		);
	}

	#annotate(part: Part, position: object): string {
		if (part.type !== "output_text") return "";
		const cited = citationsAfter(this.#closedText, this.#citations.splice(0));
		this.#closedText += part.text.length;
		part.annotations = [...cited, ...annotationsIn(part.text, sourcesOf(this.#searches))];
		return part.annotations
			.map((annotation, annotation_index) =>
				this.#sequence.event("response.output_text.annotation.added", {
					...position,
					annotation_index,
					annotation,
				}),
			)
			.join("");
	}

	#partPosition(item: ReasoningItem | MessageItem): object {
		return { ...this.#sequence.position(item), content_index: item.content.length - 1 };
	}
}

/** The content of a part in its own `done` event. */
function contentOf(part: Part): object {
	if (part.type === "output_text") return { text: part.text, logprobs: part.logprobs };
	return part.type === "refusal" ? { refusal: part.refusal } : { text: part.text };
}
