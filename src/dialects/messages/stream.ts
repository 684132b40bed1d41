/**
 * Chat streams to the events of a message: https://docs.anthropic.com/en/docs/build-with-claude/streaming.
 *
 * One block is open at a time, as Anthropic has it. Engines may go to and fro between calls: a call is closed when its
 * arguments are whole, and what comes of another before that waits. `message_start` has the engine's count of the
 * prompt where the first chunk brings it, else the gateway's own; all counts are in `message_delta`. Events of Anthropic's own are passed on, but for
 * their number: the blocks before them may be another engine's.
 */
import { AiError } from "../../core/errors.ts";
import { isRecord, parseJson } from "../../core/json.ts";
import { laterUsage, type Usage } from "../../core/usage.ts";
import { mapEvents, namedFrame } from "../../streams/sse.ts";
import { promptTokens } from "../../tasks/text-generation/tally.ts";
import type {
	ChatChunk,
	ChatDelta,
	ThinkingBlock,
	ToolCallDelta,
} from "../../tasks/text-generation/types.ts";
import { firstChoice, parseChunk, reasoningOf, toolCallPieces } from "../chat/chunks.ts";
import type { WriteContext } from "../dialect.ts";
import { messagesError } from "./errors.ts";
import {
	type Block,
	type Message,
	type MessageUsage,
	messageId,
	messageUsage,
	signedBlock,
	stopped,
	stopSequence,
	verbatimUsage,
} from "./reply.ts";
import { asksForThoughts, type MessagesRequest, showsThoughts } from "./request.ts";
import { callerToolId, newToolId } from "./tool-ids.ts";

/** Takes over `source`, a hub stream. */
export function messageEvents(
	source: ReadableStream<Uint8Array>,
	context: WriteContext,
): ReadableStream<Uint8Array> {
	const events = new MessageEvents(context);
	return mapEvents(source, {
		onData: (data, value) => {
			const chunk = parseChunk(data, value);
			return chunk === "done" ? events.finish() : events.add(chunk);
		},
		onEnd: () => events.end(),
		onError: (error) => events.fail(error),
	});
}

export const UNFINISHED = "The model could not finish its answer";

interface OpenCall {
	id: string;
	name: string;
	arguments: string;
	closed: boolean;
}

type Open = { type: "text" | "thinking" | "verbatim" } | { type: "tool_use"; call: OpenCall };

/** The message so far. Each method takes what has come and returns the events that it makes. */
class MessageEvents {
	readonly #context: WriteContext;
	readonly #shows: boolean;
	readonly #asks: boolean;
	readonly #calls: OpenCall[] = [];
	/** Calls that have begun while another was open. */
	readonly #waiting: OpenCall[] = [];
	readonly #pieceOf: ReturnType<typeof toolCallPieces>;
	#open: Open | undefined;
	#blocks = 0;
	#begun = false;
	#ended = false;
	#finishReason: string | undefined;
	#stopSequence: string | undefined;
	#usage: Usage | undefined;
	/** Thoughts that are not shown unless they turn out to be signed. */
	#unsaid = "";
	/** How Anthropic itself has ended the message. */
	#verbatimEnd: { delta?: unknown; usage?: unknown } | undefined;

	constructor(context: WriteContext) {
		this.#context = context;
		const request = context.inputs as MessagesRequest;
		this.#shows = showsThoughts(request);
		this.#asks = asksForThoughts(request);
		this.#pieceOf = toolCallPieces(() => newToolId(context.uuid));
	}

	add(chunk: ChatChunk): string {
		if (this.#ended) return "";
		this.#usage = laterUsage(this.#usage, chunk.usage);
		const choice = firstChoice(chunk);
		let out = this.#begin(chunk.id);
		if (!choice) return out;
		const { delta, finish_reason } = choice;
		out += delta.verbatim ? delta.verbatim.map((sent) => this.#pass(sent)).join("") : this.#say(delta);
		if (finish_reason === "error") return out + this.end();
		this.#finishReason = finish_reason ?? this.#finishReason;
		this.#stopSequence = stopSequence(choice, this.#context) ?? this.#stopSequence;
		return out;
	}

	finish(): string {
		if (this.#ended) return "";
		const end = this.#verbatimEnd;
		const delta = end?.delta ?? stopped(this.#finishReason, this.#stopSequence, this.#calls.length > 0);
		const usage = verbatimUsage(end?.usage, messageUsage(this.#usage, this.#context));
		const out = this.#begin("") + this.#closeAll();
		this.#ended = true;
		return out + event("message_delta", { delta, usage }) + event("message_stop");
	}

	/** Nothing more will come. If that is before {@link finish}, what was said must not look whole. */
	end(): string {
		return this.fail(new AiError("executionFailed", UNFINISHED));
	}

	/** As Anthropic does it: the error is the last event, and nothing is closed. */
	fail(failure: AiError): string {
		if (this.#ended) return "";
		this.#ended = true;
		const { type, ...error } = messagesError(failure, this.#context.requestId);
		return event(type, error);
	}

	#begin(id: string): string {
		if (this.#begun) return "";
		this.#begun = true;
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

	#say(delta: ChatDelta): string {
		let out = "";
		const thoughts = reasoningOf(delta);
		if (thoughts && this.#shows) out += this.#write("thinking", thoughts);
		else this.#unsaid += thoughts;
		for (const block of delta.thinking_blocks ?? []) out += this.#sign(block);
		if (delta.content) out += this.#write("text", delta.content);
		if (delta.refusal) out += this.#write("text", delta.refusal);
		for (const call of delta.tool_calls ?? []) out += this.#call(call);
		return out;
	}

	/** Ends the block of thoughts that has been said. */
	#sign(thoughts: ThinkingBlock): string {
		const unsaid = this.#unsaid;
		this.#unsaid = "";
		if (!this.#asks) return "";
		const block = signedBlock(thoughts);
		if (block.type !== "thinking")
			return this.#closeAll() + this.#start({ type: "thinking" }, block) + this.#close();
		const { signature } = block;
		const said = unsaid || this.#open?.type !== "thinking" ? this.#write("thinking", unsaid) : "";
		return said + this.#delta({ type: "signature_delta", signature }) + this.#close();
	}

	/** An event of Anthropic's own. */
	#pass({ type, content_block, delta, usage }: Record<string, unknown>): string {
		switch (type) {
			case "content_block_start":
				return this.#closeAll() + this.#start({ type: "verbatim" }, content_block as Block);
			case "content_block_delta":
				return this.#delta(delta as object);
			case "content_block_stop":
				return this.#close();
			default:
				this.#verbatimEnd = { delta, usage };
				return "";
		}
	}

	#write(type: "text" | "thinking", said: string): string {
		let out = "";
		if (this.#open?.type !== type) {
			out += this.#closeAll();
			const empty: Block = type === "text" ? { type, text: "" } : { type, thinking: "", signature: "" };
			out += this.#start({ type }, empty);
		}
		if (!said) return out;
		const delta =
			type === "text" ? { type: "text_delta", text: said } : { type: "thinking_delta", thinking: said };
		return out + this.#delta(delta);
	}

	#call(sent: ToolCallDelta): string {
		// Some engines end a call with a delta of nothing.
		if (!sent.function?.name && !sent.function?.arguments) return "";
		const { index, start, arguments: piece } = this.#pieceOf(sent);
		if (start) {
			const begun = { ...start, arguments: piece, closed: false };
			this.#calls[index] = begun;
			this.#waiting.push(begun);
			return this.#advance();
		}
		const call = this.#calls[index];
		if (!call || !piece) return "";
		if (call.closed) throw new AiError("executionFailed", "The engine went on with a call that had ended");
		call.arguments += piece;
		if (this.#open?.type !== "tool_use" || this.#open.call !== call) return "";
		return this.#delta({ type: "input_json_delta", partial_json: piece }) + this.#advance();
	}

	/** Begins the calls that wait, as far as those before them are whole. */
	#advance(): string {
		let out = "";
		while (this.#waiting.length > 0) {
			if (this.#open?.type === "tool_use" && !isRecord(parseJson(this.#open.call.arguments))) break;
			out += this.#startNext();
		}
		return out;
	}

	#startNext(): string {
		const call = this.#waiting.shift();
		if (!call) return "";
		const { name } = call;
		const id = callerToolId(call.id);
		const out =
			this.#close() + this.#start({ type: "tool_use", call }, { type: "tool_use", id, name, input: {} });
		const said = { type: "input_json_delta", partial_json: call.arguments };
		return call.arguments ? out + this.#delta(said) : out;
	}

	#closeAll(): string {
		let out = "";
		while (this.#waiting.length > 0) out += this.#startNext();
		return out + this.#close();
	}

	#start(open: Open, content_block: Block): string {
		this.#open = open;
		const index = this.#blocks++;
		// Anthropic's own streams have one here.
		const ping = index === 0 ? event("ping") : "";
		return event("content_block_start", { index, content_block }) + ping;
	}

	#delta(delta: object): string {
		return event("content_block_delta", { index: this.#blocks - 1, delta });
	}

	#close(): string {
		if (!this.#open) return "";
		if (this.#open.type === "tool_use") this.#open.call.closed = true;
		this.#open = undefined;
		return event("content_block_stop", { index: this.#blocks - 1 });
	}
}

const event = (type: string, fields: object = {}): string => namedFrame(type, { type, ...fields });
