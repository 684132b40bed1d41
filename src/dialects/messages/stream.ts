/**
 * Converts chat streams to the events of a message: https://docs.anthropic.com/en/docs/build-with-claude/streaming.
 *
 * One block is open at a time, as in Anthropic's API. Engines may interleave the fragments of several calls: a call is
 * closed when its arguments are complete, and fragments of later calls wait until then. `message_start` has the engine's
 * count of the prompt if the first chunk has one, otherwise the gateway's estimate; `message_delta` has all counts.
 * Anthropic's own events are forwarded with a new index, because another engine may have sent the blocks before them.
 */
import { AiError } from "../../core/errors.ts";
import { laterUsage, type Usage } from "../../core/usage.ts";
import { promptTokens } from "../../tasks/text-generation/index.ts";
import type {
	ChatChunk,
	ChatDelta,
	ThinkingBlock,
	ToolCallDelta,
	WebSearchCall,
} from "../../tasks/text-generation/types.ts";
import { firstChoice, reasoningOf, toolCallFragments } from "../chat/chunks.ts";
import { sourcesOf } from "../chat/citations.ts";
import { writeChunks } from "../chat/events.ts";
import { sealOfBlock, sealOfField, UniqueSeals } from "../chat/sealed.ts";
import type { EventWriter, WriteContext } from "../dialect.ts";
import { BlockWriter, event } from "./block-writer.ts";
import { messagesError } from "./errors.ts";
import { OpenToolUse } from "./open-tool-use.ts";
import {
	type Block,
	type Message,
	type MessageUsage,
	messageId,
	messageUsage,
	redactedThinking,
	searchUsage,
	stopReasonOf,
	stopSequence,
	thinkingBlock,
	verbatimUsage,
} from "./reply.ts";
import { type MessagesRequest, requestsThinking, showsThinking } from "./request.ts";
import { callerToolId, newToolId } from "./tool-ids.ts";
import { searchCitations, searchToolResult, serverToolUse } from "./web-search.ts";

export const messageEvents: EventWriter = (events, context) =>
	writeChunks(events, new MessageEvents(context));

/** The state of one message. Each method returns the events to send. */
class MessageEvents {
	readonly #context: WriteContext;
	readonly #showsThinking: boolean;
	readonly #requestsThinking: boolean;
	readonly #calls: OpenToolUse[] = [];
	/** Calls that started while another was open. */
	readonly #pendingCalls: OpenToolUse[] = [];
	readonly #fragmentOf: ReturnType<typeof toolCallFragments>;
	readonly #blocks = new BlockWriter((text) => this.#citationsOf(text));
	#started = false;
	#finishReason: string | undefined;
	#stopSequence: string | undefined;
	#usage: Usage | undefined;
	/** Thinking that is sent only if a signature follows. */
	#unsentThinking = "";
	/** Those that have ended, and those that are left pending. */
	readonly #searches: WebSearchCall[] = [];
	/** Citations of the open text that the engine sent. */
	readonly #annotations: unknown[] = [];
	readonly #seals = new UniqueSeals();
	/** The end of Anthropic's own message. */
	#verbatimEnd: { delta?: unknown; usage?: unknown } | undefined;

	constructor(context: WriteContext) {
		this.#context = context;
		const request = context.inputs as MessagesRequest;
		this.#showsThinking = showsThinking(request);
		this.#requestsThinking = requestsThinking(request);
		this.#fragmentOf = toolCallFragments(() => newToolId(context.uuid));
	}

	add(chunk: ChatChunk): string {
		this.#usage = laterUsage(this.#usage, chunk.usage);
		const choice = firstChoice(chunk);
		let out = this.#startMessage(chunk.id);
		if (!choice) return out;
		const { delta, finish_reason } = choice;
		if (delta.verbatim) {
			out += delta.verbatim.map((sent) => this.#forward(sent)).join("");
			for (const call of delta.tool_calls ?? []) this.#trackForwarded(call);
		} else out += this.#writeDelta(delta);
		this.#finishReason = finish_reason ?? this.#finishReason;
		this.#stopSequence = stopSequence(choice, this.#context) ?? this.#stopSequence;
		return out;
	}

	finish(): string {
		const end = this.#verbatimEnd;
		const delta = end?.delta ?? stopReasonOf(this.#finishReason, this.#stopSequence, this.#calls.length > 0);
		const counts = { ...messageUsage(this.#usage, this.#context), ...searchUsage(this.#searches) };
		const usage = verbatimUsage(end?.usage, counts);
		const out = this.#startMessage("") + this.#closeAll();
		return out + event("message_delta", { delta, usage }) + event("message_stop");
	}

	/** As in Anthropic's API, the error is the last event and the open block is not closed. */
	fail(failure: AiError): string {
		const { type, ...error } = messagesError(failure, this.#context.requestId);
		return event(type, error);
	}

	#startMessage(id: string): string {
		if (this.#started) return "";
		this.#started = true;
		const message: Message = {
			id: messageId(id, this.#context.uuid),
			type: "message",
			role: "assistant",
			model: this.#context.model.id,
			content: [],
			stop_reason: null,
			stop_sequence: null,
			usage: this.#firstUsage(),
		};
		return event("message_start", { message });
	}

	#firstUsage(): MessageUsage {
		if (this.#usage?.prompt_tokens) return messageUsage(this.#usage, this.#context);
		const { call } = this.#context;
		const input_tokens = call.task === "text-generation" ? promptTokens(call.input) : 0;
		return { ...messageUsage(undefined, this.#context), input_tokens };
	}

	#writeDelta(delta: ChatDelta): string {
		let out = "";
		const thinking = reasoningOf(delta);
		if (thinking && this.#showsThinking) out += this.#write("thinking", thinking);
		else this.#unsentThinking += thinking;
		for (const block of delta.thinking_blocks ?? []) out += this.#sign(block);
		if (delta.content) out += this.#write("text", delta.content);
		if (delta.annotations?.length) this.#annotations.push(...delta.annotations);
		const sealed = this.#requestsThinking && sealOfField(delta.extra_content);
		if (sealed) out += this.#closeAll() + this.#redacted(sealed);
		if (delta.refusal) out += this.#write("text", delta.refusal);
		for (const call of delta.tool_calls ?? []) out += this.#call(call);
		if (delta.web_search) out += this.#search(delta.web_search);
		return out;
	}

	/** Ends the thinking block with its signature. */
	#sign(signed: ThinkingBlock): string {
		if (this.#requestsThinking) this.#seals.pass(sealOfBlock(signed));
		const unsent = this.#unsentThinking;
		this.#unsentThinking = "";
		if (!this.#requestsThinking) return "";
		const block = thinkingBlock(signed);
		if (block.type !== "thinking")
			return this.#blocks.close() + this.#blocks.start({ type: "thinking" }, block) + this.#blocks.close();
		const { signature } = block;
		const thinking = unsent || this.#blocks.open?.type !== "thinking" ? this.#write("thinking", unsent) : "";
		return thinking + this.#blocks.delta({ type: "signature_delta", signature }) + this.#blocks.close();
	}

	/** Forwards Anthropic's own event. */
	#forward({ type, content_block, delta, usage }: Record<string, unknown>): string {
		switch (type) {
			case "content_block_start":
				return this.#closeAll() + this.#blocks.start({ type: "verbatim" }, content_block as Block);
			case "content_block_delta":
				return this.#blocks.delta(delta as object);
			case "content_block_stop":
				return this.#blocks.close();
			default:
				this.#verbatimEnd = { delta, usage };
				return "";
		}
	}

	/** Another engine may continue the call, if this one breaks off. */
	#trackForwarded(sent: ToolCallDelta): void {
		const { index, start, arguments: fragment } = this.#fragmentOf(sent);
		if (start) this.#calls[index] = new OpenToolUse(start);
		const call = this.#calls[index];
		if (!call) return;
		call.addForwarded(fragment);
		if (this.#blocks.open?.type === "verbatim") this.#blocks.open = { type: "tool_use", call };
	}

	#write(type: "text" | "thinking", text: string): string {
		let out = "";
		if (this.#blocks.open?.type !== type) {
			out += this.#closeAll();
			const empty: Block = type === "text" ? { type, text: "" } : { type, thinking: "", signature: "" };
			out += this.#blocks.start(type === "text" ? { type, text: "" } : { type }, empty);
		}
		if (!text) return out;
		if (this.#blocks.open?.type === "text" && this.#searches.length > 0) this.#blocks.open.text += text;
		const delta = type === "text" ? { type: "text_delta", text } : { type: "thinking_delta", thinking: text };
		return out + this.#blocks.delta(delta);
	}

	/** A search starts or ends. As in Anthropic's API its result is one event. */
	#search(call: WebSearchCall): string {
		const { outcome } = call;
		if (outcome) {
			this.#searches.push(call);
			return (
				this.#closeAll() +
				this.#blocks.start({ type: "search" }, searchToolResult(call, outcome)) +
				this.#blocks.close()
			);
		}
		const block = serverToolUse(call);
		const input = { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
		const started = this.#closeAll() + this.#blocks.start({ type: "search" }, { ...block, input: {} });
		return started + this.#blocks.delta(input) + this.#blocks.close();
	}

	#citationsOf(text: string): readonly object[] {
		const annotations = this.#annotations.splice(0);
		if (this.#searches.length === 0 && annotations.length === 0) return [];
		return searchCitations(text, sourcesOf(this.#searches), annotations);
	}

	#call(sent: ToolCallDelta): string {
		// Some engines end a call with an empty delta.
		if (!sent.function?.name && !sent.function?.arguments) return "";
		const { index, start, arguments: fragment } = this.#fragmentOf(sent);
		if (start) {
			const started = new OpenToolUse(start, sealOfField(sent.extra_content));
			started.add(fragment);
			this.#calls[index] = started;
			this.#pendingCalls.push(started);
			return this.#startPendingCalls();
		}
		const call = this.#calls[index];
		if (!call || !fragment) return "";
		if (call.isClosed) throw new AiError("executionFailed", "The engine continued a call that had ended");
		call.add(fragment);
		if (this.#blocks.open?.type !== "tool_use" || this.#blocks.open.call !== call) return "";
		return this.#blocks.sendArguments(call) + this.#startPendingCalls();
	}

	/** Starts the pending calls until one has incomplete arguments. */
	#startPendingCalls(): string {
		let out = "";
		while (this.#pendingCalls.length > 0) {
			if (this.#blocks.open?.type === "tool_use" && !this.#blocks.open.call.isComplete) break;
			out += this.#startNextCall();
		}
		return out;
	}

	#startNextCall(): string {
		const call = this.#pendingCalls.shift();
		if (!call) return "";
		const block: Block = { type: "tool_use", id: callerToolId(call.id), name: call.name, input: {} };
		const out =
			this.#redacted(call.seal) +
			this.#blocks.close() +
			this.#blocks.start({ type: "tool_use", call }, block);
		return out + this.#blocks.sendArguments(call);
	}

	/** A block with a seal that no other block has. */
	#redacted(seal: string): string {
		const [block] = redactedThinking(this.#seals.pass(seal));
		return block
			? this.#closeAll() + this.#blocks.start({ type: "thinking" }, block) + this.#blocks.close()
			: "";
	}

	#closeAll(): string {
		let out = "";
		while (this.#pendingCalls.length > 0) out += this.#startNextCall();
		return out + this.#blocks.close();
	}
}
