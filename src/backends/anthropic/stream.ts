/**
 * Translates the events of a stream to chunks: https://docs.anthropic.com/en/docs/build-with-claude/streaming.
 *
 * The first chunk has the first output of the model: an overloaded upstream sends its error after `message_start`, and
 * then another target can still be tried. Counts in `message_delta` are totals.
 */
import * as z from "zod";
import { laterCounts, messagesUsage, type SentCounts } from "../../core/usage-formats.ts";
import type { ChatChunk, ChatDelta } from "../../tasks/text-generation/types.ts";
import { OutputCheck } from "../output-state.ts";
import { callSeal } from "../sealed-messages.ts";
import type { Seals } from "../seals.ts";
import { decodedOnce, mayBeEncodedTwice } from "../tool-arguments.ts";
import type { Translator, UpstreamEvent } from "../transport/translated-stream.ts";
import { type Call, failureOfBody } from "../transport/upstream-failure.ts";
import { ForwardedEvents } from "./forwarded-events.ts";
import { blockState } from "./output.ts";
import {
	finishReason,
	type ReplyForm,
	type SentBlock,
	sentReason,
	stopReasonField,
	stopReasonOf,
	withCallId,
} from "./reply.ts";
import { SearchBlocks } from "./search-blocks.ts";
import { completeEvents, Event, endOf } from "./stream-event.ts";
import { sealThought } from "./thoughts.ts";
import { type AnswerTool, answerIn } from "./tools.ts";

/** A tool call whose arguments are not complete. */
interface OpenCall {
	/** The index among the calls of the message. */
	index: number;
	/** Complete arguments, from servers that do not send them in pieces. */
	input: Record<string, unknown>;
	arguments: string;
	/** They may be encoded twice, and are sent when they are complete. `undefined`: they have not begun. */
	isHeld?: boolean;
}

export class MessageTranslator implements Translator {
	done = false;
	readonly #call: Call;
	readonly #seals: Seals | undefined;
	readonly #answerTool: AnswerTool | undefined;
	readonly #created: number;
	#id = "";
	#model: string;
	#hasBegun = false;
	/** The last event, for the log. */
	#last: unknown;
	#calls = 0;
	/** Open calls by the index of their block. */
	readonly #open = new Map<number, OpenCall>();
	#usage: SentCounts | undefined;
	readonly #blocks = new Map<number, string>();
	readonly #check = new OutputCheck();
	#stopReason: string | undefined;
	#stopSequence: string | undefined;
	/** Text beside the answer tool. It is the answer only if the tool is not called. */
	#otherText = "";
	/** The seals since the last call. */
	#beforeCall = "";
	/** The open thinking block. */
	#thoughts: SentBlock | undefined;
	/** `undefined`: the caller does not get the API's events. */
	readonly #events: ForwardedEvents | undefined;

	/** The characters of the text so far. */
	#textLength = 0;
	/** `undefined`: Anthropic does not search, or the caller gets its events. */
	readonly #search: SearchBlocks | undefined;

	constructor(call: Call, { answerTool, verbatim, seals, search }: ReplyForm) {
		this.#call = call;
		this.#search = search && !verbatim ? new SearchBlocks(call, search) : undefined;
		this.#seals = seals;
		this.#answerTool = answerTool;
		this.#events = verbatim ? new ForwardedEvents() : undefined;
		this.#created = Math.floor(call.services.now() / 1000);
		this.#model = call.target.model;
		// A message may have no block.
		this.#check.add("empty", undefined);
	}

	translate({ event: name, data }: UpstreamEvent): ChatChunk[] {
		const sent: unknown = JSON.parse(data);
		const event = Event.parse(sent);
		return completeEvents(event, this.#blocks).flatMap((one) =>
			one === event ? this.#read(name, one, sent) : this.#read(undefined, one, one),
		);
	}

	#read(name: string | undefined, event: Event, sent: unknown): ChatChunk[] {
		const { type, index, content_block, delta } = event;
		const part = type === "content_block_delta" ? delta : content_block;
		if (part && this.#check.state !== "some") this.#check.add(blockState(part), sent);
		if (type === "content_block_start" && content_block) this.#blocks.set(index ?? 0, content_block.type);
		if (type === "content_block_stop") this.#blocks.delete(index ?? 0);
		if (event.content_block) event.content_block = withCallId(event.content_block, this.#call);
		if (event.type.startsWith("content_block_") && !this.#isSigned(event)) this.#events?.push(event);
		const chunks = this.#translate(name, event, sent);
		// The start of a block is sent with its first delta; `message_delta` is sent at the end.
		const isDue = event.type === "content_block_delta" || event.type === "content_block_stop";
		const isForwarded = isDue && this.#check.state === "some" && this.#events?.length;
		return chunks.length === 0 && isForwarded ? this.#chunksOf({}) : chunks;
	}

	/** The seal of a signature, or of redacted thinking, is sent when the block ends. */
	#isSigned({ delta, content_block }: Event): boolean {
		return delta?.type === "signature_delta" || content_block?.type === "redacted_thinking";
	}

	#translate(name: string | undefined, event: Event, sent: unknown): ChatChunk[] {
		this.#last = sent;
		switch (event.type) {
			case "error":
				throw failureOfBody(this.#call, sent);
			case "message_start":
				this.#id = event.message?.id || "";
				this.#model = event.message?.model || this.#model;
				this.#usage = laterCounts(this.#usage, event.message?.usage ?? {});
				return [];
			case "content_block_start":
				return this.#begin(event);
			case "content_block_delta":
				return this.#delta(event);
			case "content_block_stop":
				return this.#close(event);
			case "message_delta":
				this.#stopReason = event.delta?.stop_reason ?? event.stop_reason ?? this.#stopReason;
				this.#stopSequence = event.delta?.stop_sequence ?? this.#stopSequence;
				this.#usage = laterCounts(this.#usage, event.usage ?? {});
				if (event.delta) event.delta.stop_reason = stopReasonOf(event.delta.stop_reason, this.#calls > 0);
				this.#events?.push({ ...event, usage: this.#usage });
				return [];
			case "message_stop":
				this.done = true;
				return [];
			default:
				// `ping`, and future events.
				if (name === "error") throw failureOfBody(this.#call, sent);
				return [];
		}
	}

	readDone(): void {
		this.done = true;
	}

	end(): ChatChunk[] | undefined {
		if (this.#stopReason === undefined && !this.done) return undefined;
		this.#check.refuseUnread(this.#call, sentReason(this.#stopReason), this.#last);
		const ended = [...this.#blocks.keys()].map(endOf).flatMap((one) => this.#read(undefined, one, one));
		const finish_reason = finishReason(this.#stopReason, this.#answerTool, this.#calls > 0);
		const usage = this.#usage && messagesUsage(this.#usage);
		const unfinished = (this.#search?.unfinished() ?? []).flatMap((delta) => this.#chunksOf(delta));
		const otherText =
			this.#calls === 0 && this.#otherText ? this.#chunksOf({ content: this.#otherText }) : [];
		return [
			...ended,
			...unfinished,
			...otherText,
			...this.#chunksOf({}, finish_reason),
			...(usage ? [{ ...this.#chunk([]), usage }] : []),
		];
	}

	#begin({ index, content_block: block }: Event): ChatChunk[] {
		if (block && this.#search) {
			const deltas = this.#search.begin(block, this.#textLength);
			if (deltas.length > 0) return deltas.flatMap((delta) => this.#chunksOf(delta));
		}
		if (block?.type === "text") return this.#text(block.text);
		if (block?.type === "thinking" || block?.type === "redacted_thinking") {
			this.#thoughts = { ...block };
			return block.thinking ? this.#chunksOf({ reasoning_content: block.thinking }) : [];
		}
		if (block?.type !== "tool_use") return [];
		const opened: OpenCall = { index: this.#calls++, input: block.input ?? {}, arguments: "" };
		this.#open.set(index ?? 0, opened);
		if (this.#answerTool) return [];
		const called = { name: block.name ?? "", arguments: "" };
		const seal = callSeal(this.#beforeCall);
		this.#beforeCall = "";
		const start = { index: opened.index, id: block.id ?? "", type: "function", function: called, ...seal };
		return this.#chunksOf({ tool_calls: [start] });
	}

	#delta({ index, delta }: Event): ChatChunk[] {
		switch (delta?.type) {
			case "text_delta":
				return this.#text(delta.text);
			case "thinking_delta":
				if (this.#thoughts)
					this.#thoughts.thinking = (this.#thoughts.thinking ?? "") + (delta.thinking ?? "");
				return delta.thinking ? this.#chunksOf({ reasoning_content: delta.thinking }) : [];
			case "signature_delta":
				if (this.#thoughts)
					this.#thoughts.signature = (this.#thoughts.signature ?? "") + (delta.signature ?? "");
				return [];
			case "citations_delta":
				this.#search?.cite(delta.citation);
				return [];
			case "input_json_delta": {
				this.#search?.addInput(delta.partial_json ?? "");
				const call = this.#open.get(index ?? 0);
				if (!call || !delta.partial_json) return [];
				call.arguments += delta.partial_json;
				// Of the first piece alone: a search in all pieces so far would copy them each time.
				if (delta.partial_json.trim() !== "") call.isHeld ??= mayBeEncodedTwice(delta.partial_json);
				if (call.isHeld) {
					this.#events?.drop();
					return [];
				}
				return this.#argumentsChunk(call, delta.partial_json);
			}
			default:
				return [];
		}
	}

	#text(content: string | null | undefined): ChatChunk[] {
		if (!content) return [];
		this.#textLength += content.length;
		if (!this.#answerTool) return this.#chunksOf({ content });
		this.#otherText += content;
		return [];
	}

	#close({ index }: Event): ChatChunk[] {
		const searched = this.#search?.close(this.#textLength) ?? [];
		if (searched.length > 0) return searched.flatMap((delta) => this.#chunksOf(delta));
		if (this.#thoughts) {
			const sealed = sealThought(this.#thoughts, this.#seals);
			const isRedacted = this.#thoughts.type === "redacted_thinking";
			this.#thoughts = undefined;
			this.#events?.addSeal({ index, sealed, isRedacted });
			this.#beforeCall += sealed?.signature || sealed?.data || "";
			return sealed ? this.#chunksOf({ thinking_blocks: [sealed] }) : [];
		}
		const call = this.#open.get(index ?? 0);
		this.#open.delete(index ?? 0);
		if (!call) return [];
		if (call.isHeld) {
			call.arguments = decodedOnce(call.arguments);
			this.#events?.addArguments(index, call.arguments);
		}
		if (this.#answerTool?.field !== undefined) {
			const input = call.arguments
				? z.record(z.string(), z.unknown()).parse(JSON.parse(call.arguments))
				: call.input;
			return this.#chunksOf({ content: answerIn(this.#answerTool, input) });
		}
		// Servers send no pieces for a call without arguments.
		if (call.arguments && !call.isHeld) return [];
		return this.#argumentsChunk(call, call.arguments || JSON.stringify(call.input));
	}

	/** A piece of arguments. With an answer tool, the arguments are the answer. */
	#argumentsChunk({ index }: OpenCall, piece: string): ChatChunk[] {
		if (!this.#answerTool) return this.#chunksOf({ tool_calls: [{ index, function: { arguments: piece } }] });
		return this.#answerTool.field === undefined ? this.#chunksOf({ content: piece }) : [];
	}

	#chunksOf(delta: ChatDelta, finish_reason: string | null = null): ChatChunk[] {
		const message: ChatDelta = this.#hasBegun ? { ...delta } : { role: "assistant", content: "", ...delta };
		if (this.#events?.length) message.verbatim = this.#events.take();
		this.#hasBegun = true;
		const stopped = finish_reason === null ? {} : stopReasonField(this.#stopSequence);
		return [this.#chunk([{ index: 0, delta: message, finish_reason, ...stopped }])];
	}

	#chunk(choices: ChatChunk["choices"]): ChatChunk {
		this.#id ||= `chatcmpl-${this.#call.services.uuid()}`;
		return {
			id: this.#id,
			object: "chat.completion.chunk",
			created: this.#created,
			model: this.#model,
			choices,
		};
	}
}
