/**
 * Translates the events of a response to chat chunks: https://platform.openai.com/docs/api-reference/responses-streaming.
 *
 * The first chunk is that of the first item: an overloaded service sends its error before, and then another target can still be
 * tried. Some servers send the text of a part, or the arguments of a call, only when it is done: then the rest is sent. A stream
 * without an event that ends the response was cut off.
 */
import { present } from "../../../core/present.ts";
import type { DeltaContent } from "../../../streams/delta-event.ts";
import type { ChatChunk, ChatDelta } from "../../../tasks/text-generation/types.ts";
import { ChunkWriter, headingOf } from "../../completion.ts";
import { searchDeltas } from "../../engine-search.ts";
import { OutputCheck } from "../../output-state.ts";
import { callSeal } from "../../sealed-messages.ts";
import type { Translator, UpstreamEvent } from "../../transport/translated-stream.ts";
import { type Call, failureOfBody } from "../../transport/upstream-failure.ts";
import { PieceReader } from "./delta-pattern.ts";
import { ItemPlaces, usualEvent } from "./forms.ts";
import { OpenToolCall } from "./open-call.ts";
import { eventState, responseState } from "./output.ts";
import { CALL_EVENTS, CHANNELS, type PartType, partKey, SentParts, TEXT_EVENTS } from "./part-events.ts";
import {
	annotationsOf,
	BEFORE_CALLS,
	callOf,
	chatAnnotation,
	finishReason,
	type ResponseReply,
	type ResponsesReplyForm,
	reasoningText,
	refuseFailed,
	reportDiscarded,
	sealOf,
	thinkingBlock,
	type UpstreamItem,
	usageIn,
	withSeal,
} from "./reply.ts";
import { searchesIn } from "./searches.ts";
import { ENDS, isDelta, ResponseEvent, STARTS, TEXT_DELTA } from "./stream-event.ts";

export class ResponseTranslator implements Translator {
	done = false;
	readonly #call: Call;
	readonly #form: ResponsesReplyForm;
	readonly #hasLogprobs: boolean;
	#writer: ChunkWriter;
	#final: ResponseReply | undefined;
	readonly #check = new OutputCheck();
	readonly #places = new ItemPlaces();
	/** The first chunk is due. */
	#hasOutput = false;
	/** What belongs to the first chunk. */
	readonly #held: DeltaWithLogprobs[] = [];
	readonly #calls = new Map<number, OpenToolCall>();
	readonly #sent = new SentParts();
	/** `undefined` if the caller gets other fields of the events than their text. */
	readonly #pieces: PieceReader | undefined;
	/** The seal of each item that has one. */
	readonly #seals = new Map<number, string | undefined>();
	/** The seals since the last call. */
	#beforeCall = "";
	#hasReasoning = false;
	/** Items that an event of their own has completed. */
	readonly #ended = new Set<number>();
	/** The service's events since the last chunk, if the caller gets them. */
	readonly #events: Record<string, unknown>[] | undefined;

	constructor(call: Call, form: ResponsesReplyForm, hasLogprobs: boolean) {
		this.#call = call;
		this.#form = form;
		this.#hasLogprobs = hasLogprobs;
		this.#writer = new ChunkWriter(headingOf(call));
		this.#events = form.verbatim ? [] : undefined;
		this.#pieces = form.verbatim || hasLogprobs ? undefined : new PieceReader();
	}

	translate(sentEvent: UpstreamEvent): ChatChunk[] {
		const { event: name, data } = sentEvent;
		const sent: unknown = JSON.parse(data);
		const event = this.#places.placed(isDelta(sent) ? sent : ResponseEvent.parse(usualEvent(sent, name)));
		if (event.type === "error" || name === "error") throw failureOfBody(this.#call, sent);
		if (STARTS.has(event.type)) {
			const { model, created_at: created } = event.response ?? {};
			if (event.response) reportDiscarded(event.response, this.#call);
			if (!this.#writer.hasBegun) this.#writer = new ChunkWriter(headingOf(this.#call, { model, created }));
			return [];
		}
		const deltas = this.#deltas(event);
		if (deltas.some(({ delta }) => delta.phase === undefined)) this.#check.add("some", undefined);
		else if (TEXT_EVENTS.has(event.type)) this.#check.add(eventState(event), sent);
		if (event.type === "response.output_item.done") this.#ended.add(event.output_index ?? 0);
		this.#events?.push(...this.#missingEnds(event), ...this.#forCaller(event));
		if (event.type === TEXT_DELTA) this.#pieces?.learn(sentEvent, partKey("output_text", event));
		const isAdded = event.type === "response.output_item.added";
		// A message whose text cannot be read is no output.
		this.#hasOutput ||= this.#check.state === "some" || (isAdded && event.item?.type !== "message");
		const due = [...this.#held.splice(0), ...deltas];
		if (!this.#hasOutput) {
			this.#held.push(...due);
			return [];
		}
		const isOutput = isAdded || due.length > 0;
		if (!isOutput && !this.#events?.length) return [];
		if (!isOutput && ENDS.has(event.type)) return [];
		return this.#chunks(due);
	}

	readContent(event: Uint8Array): DeltaContent | undefined {
		const piece = this.#pieces?.read(event);
		if (piece) this.#sent.add(piece.key, piece.delta.text);
		return piece?.delta;
	}

	end(): ChatChunk[] | undefined {
		if (!this.#final) return undefined;
		const reason = finishReason(this.#final, this.#calls.size > 0);
		this.#check.add(responseState(this.#final), this.#final);
		this.#check.refuseUnread(this.#call, reason, this.#final);
		const last = this.#events?.length || this.#held.length > 0 ? this.#chunks(this.#held) : [];
		return [...last, ...this.#writer.end(reason, usageIn(this.#final))];
	}

	#deltas(event: ResponseEvent): DeltaWithLogprobs[] {
		const { type, item, response } = event;
		const at = event.output_index ?? 0;
		const textEvent = TEXT_EVENTS.get(type);
		if (textEvent) return this.#text(textEvent.part, event, textEvent.isEnd);
		const callEvent = CALL_EVENTS.get(type);
		const call = this.#calls.get(at);
		if (callEvent?.isEnd) return this.#arguments(at, call?.complete(event.arguments ?? event.input ?? ""));
		if (callEvent) return this.#arguments(at, call?.add(event.delta ?? ""));
		switch (type) {
			case "response.output_item.added":
				return item ? this.#begin(item, at) : [];
			case "response.output_item.done":
				return item ? this.#complete(item, at) : [];
			case "response.output_text.annotation.added": {
				const annotation = chatAnnotation(
					event.annotation,
					this.#sent.textBefore(partKey("output_text", event)),
				);
				return [{ delta: { annotations: [annotation] } }];
			}
			case "response.completed":
			case "response.incomplete":
			case "response.failed":
				if (!response) return [];
				refuseFailed(response, this.#call);
				this.#final = response;
				this.done = true;
				return (response.output ?? []).flatMap((one, place) => this.#complete(one, place));
			default:
				return [];
		}
	}

	#begin(item: UpstreamItem, at: number): DeltaWithLogprobs[] {
		if (item.type === "message") return item.phase ? [{ delta: { phase: item.phase } }] : [];
		const called = callOf(item);
		if (!called || this.#calls.has(at)) return [];
		const call = new OpenToolCall(this.#calls.size, item.type === "custom_tool_call");
		this.#calls.set(at, call);
		const {
			id,
			type,
			function: { name },
		} = called;
		const started = { index: call.index, id, type, function: { name, arguments: "" } };
		const signature = callSeal(this.#beforeCall);
		this.#beforeCall = "";
		return [{ delta: { tool_calls: [{ ...started, ...signature }] } }];
	}

	#arguments(at: number, piece: string | undefined): DeltaWithLogprobs[] {
		const call = this.#calls.get(at);
		if (!call || !piece) return [];
		return [{ delta: { tool_calls: [{ index: call.index, function: { arguments: piece } }] } }];
	}

	#text(part: PartType, event: ResponseEvent, isEnd: boolean): DeltaWithLogprobs[] {
		const { delta, logprobs } = event;
		const key = partKey(part, event);
		const sent = this.#sent.charactersOf(key);
		const piece = isEnd ? (event.text ?? event.refusal ?? "").slice(sent) : (delta ?? "");
		if (!piece) return [];
		this.#sent.add(key, piece);
		const field = CHANNELS[part];
		const isReasoning = field === "reasoning_content";
		const text = isReasoning && sent === 0 ? this.#nextReasoning(piece) : piece;
		const tokens = this.#hasLogprobs && !isEnd && logprobs?.length ? { content: logprobs } : undefined;
		return [{ delta: { [field]: text }, ...(tokens && { logprobs: tokens }) }];
	}

	/** A blank line separates the parts of a summary, and items. */
	#nextReasoning(text: string): string {
		const separator = text && this.#hasReasoning ? "\n\n" : "";
		this.#hasReasoning ||= text !== "";
		return separator + text;
	}

	/** An item is complete. Sends what its earlier events lacked. */
	#complete(item: UpstreamItem, at: number): DeltaWithLogprobs[] {
		const called = callOf(item);
		if (called) {
			const complete = item.type === "custom_tool_call" ? (item.input ?? "") : called.function.arguments;
			const begun = this.#begin(item, at);
			return [...begun, ...this.#arguments(at, this.#calls.get(at)?.complete(complete))];
		}
		if (item.type === "message" && this.#places.hasUnplaced) return [];
		if (item.type === "message")
			return (item.content ?? []).flatMap((part, place) => this.#completePart(part, at, place));
		if (this.#seals.has(at)) return [];
		const seal = sealOf(item, { at, previous: this.#seals.get(at - 1) }, this.#form);
		if (seal !== undefined || BEFORE_CALLS.has(item.type)) this.#seals.set(at, seal);
		if (!BEFORE_CALLS.has(item.type)) return [];
		const unsent = this.#sent.hasReasoning(at) ? "" : this.#nextReasoning(reasoningText(item));
		this.#beforeCall += seal ?? "";
		const delta: ChatDelta = {
			...(unsent && { reasoning_content: unsent }),
			...(seal !== undefined && { thinking_blocks: [thinkingBlock(item, seal)] }),
		};
		const searches = this.#form.search?.showsSearches ? searchesIn(item, this.#call) : [];
		return [
			...(Object.keys(delta).length > 0 ? [{ delta }] : []),
			...searches.flatMap(searchDeltas).map((searched) => ({ delta: searched })),
		];
	}

	#completePart(
		part: NonNullable<UpstreamItem["content"]>[number],
		at: number,
		place: number,
	): DeltaWithLogprobs[] {
		const type = part.refusal ? "refusal" : "output_text";
		const key = partKey(type, { output_index: at, content_index: place });
		const isUnsent = !this.#sent.has(key);
		const event = {
			type: "",
			output_index: at,
			content_index: place,
			text: part.text,
			refusal: part.refusal,
		};
		const annotations = isUnsent ? annotationsOf(part, this.#sent.textBefore(key)) : [];
		return [
			...this.#text(type, event, true),
			...(annotations.length > 0 ? [{ delta: { annotations } }] : []),
		];
	}

	/** Some servers send items with the complete response only. */
	#missingEnds({ response }: ResponseEvent): Record<string, unknown>[] {
		return (response?.output ?? []).flatMap((item, output_index) => {
			if (this.#ended.has(output_index)) return [];
			const end = { type: "response.output_item.done", output_index, item };
			return [{ ...end, item: withSeal(item, this.#seals.get(output_index)) }];
		});
	}

	/** The service's event with seals in place of encrypted content, and with arguments that are encoded once. */
	#forCaller(event: ResponseEvent): Record<string, unknown>[] {
		const { item, response, type } = event;
		if (item) return [{ ...event, item: withSeal(item, this.#seals.get(event.output_index ?? 0)) }];
		if (response) {
			const output = (response.output ?? []).map((one, at) => withSeal(one, this.#seals.get(at)));
			return [{ ...event, response: { ...response, output } }];
		}
		const callEvent = CALL_EVENTS.get(type);
		if (!callEvent || !this.#calls.get(event.output_index ?? 0)?.isHeld) return [event];
		if (!callEvent.isEnd) return [];
		const { arguments: delta, ...fields } = event;
		return [{ ...fields, type: "response.function_call_arguments.delta", delta }, event];
	}

	#chunks(deltas: readonly DeltaWithLogprobs[]): ChatChunk[] {
		const verbatim = this.#events?.splice(0);
		const first: ChatDelta = this.#writer.hasBegun ? {} : { role: "assistant", content: "" };
		this.#writer.hasBegun = true;
		const [{ delta, ...fields } = { delta: {} }, ...others] = deltas;
		// The events have all deltas: a chunk without events would be written again.
		const written = verbatim && { verbatim: [] };
		return [
			this.#writer.chunk({ ...first, ...delta, ...(verbatim?.length && { verbatim }) }, present(fields)),
			...others.map(({ delta: later, ...more }) =>
				this.#writer.chunk({ ...later, ...written }, present(more)),
			),
		];
	}
}

interface DeltaWithLogprobs {
	delta: ChatDelta;
	logprobs?: unknown;
}
