/**
 * Chat streams to the events of `streamGenerateContent`: `data:` lines without an end mark. A call is one part, so it is
 * sent when its candidate finishes. The last event of each candidate has its reason and the counts.
 */
import { AiError } from "../../core/errors.ts";
import { laterUsage, type Usage } from "../../core/usage.ts";
import type { Part } from "../../models/gemini-wire.ts";
import { frame, mapEvents } from "../../streams/sse.ts";
import type { ChatChunk, ToolCall, ToolCallDelta } from "../../tasks/text-generation/types.ts";
import { parseChunk, reasoningOf, toolCallPieces } from "../chat/chunks.ts";
import type { WriteContext } from "../dialect.ts";
import { geminiError } from "./errors.ts";
import { callPart, candidate, EMPTY, googleReason, heading, usageMetadata } from "./reply.ts";
import { type GeminiRequest, showsThoughts } from "./request.ts";

export const UNFINISHED = "The model could not finish its answer";

/** Takes over `source`, a hub stream. */
export function geminiEvents(
	source: ReadableStream<Uint8Array>,
	context: WriteContext,
): ReadableStream<Uint8Array> {
	const shows = showsThoughts(context.inputs as GeminiRequest);
	const candidates = new Map<number, Candidate>();
	let usage: Usage | undefined;
	let head: object | undefined;
	let ended = false;

	const event = (fields: object): string => frame({ ...fields, ...(head ?? heading("", context)) });
	const add = (chunk: ChatChunk): string => {
		usage = laterUsage(usage, chunk.usage);
		head ??= heading(chunk.id, context);
		let out = "";
		for (const { index, delta, finish_reason } of chunk.choices) {
			const known = candidates.get(index) ?? new Candidate(context.uuid);
			candidates.set(index, known);
			const thoughts = shows ? reasoningOf(delta) : "";
			if (thoughts) out += event({ candidates: [candidate(index, [{ text: thoughts, thought: true }])] });
			const text = (delta.content ?? "") + (delta.refusal ?? "");
			if (text) out += event({ candidates: [candidate(index, [{ text }])] });
			for (const call of delta.tool_calls ?? []) known.add(call);
			if (finish_reason === "error") throw new AiError("executionFailed", UNFINISHED);
			known.reason = finish_reason ?? known.reason;
		}
		return out;
	};
	const finish = (): string => {
		ended = true;
		const last = [...candidates].map(([index, one]) =>
			candidate(index, one.lastParts(), googleReason(one.reason)),
		);
		return event({ candidates: last, ...usageMetadata(usage, context) });
	};
	const fail = (failure: AiError): string => {
		if (ended) return "";
		ended = true;
		return frame(geminiError(failure));
	};
	return mapEvents(source, {
		onData(data, value) {
			if (ended) return "";
			const chunk = parseChunk(data, value);
			return chunk === "done" ? finish() : add(chunk);
		},
		onEnd: () => fail(new AiError("executionFailed", UNFINISHED)),
		onError: fail,
	});
}

/** One answer of a stream, as far as it is not sent yet. */
class Candidate {
	reason = "stop";
	readonly #calls: ToolCall[] = [];
	readonly #pieceOf: ReturnType<typeof toolCallPieces>;

	constructor(uuid: () => string) {
		this.#pieceOf = toolCallPieces(() => `call_${uuid()}`);
	}

	add(sent: ToolCallDelta): void {
		if (!sent.function?.name && !sent.function?.arguments) return;
		const { index, start, arguments: piece } = this.#pieceOf(sent);
		const { extra_content } = sent;
		if (start)
			this.#calls[index] = {
				id: start.id,
				type: "function",
				function: { name: start.name, arguments: "" },
				...(extra_content && { extra_content }),
			};
		const call = this.#calls[index];
		if (call) call.function.arguments += piece;
	}

	lastParts(): Part[] {
		return this.#calls.length > 0 ? this.#calls.map(callPart) : [EMPTY];
	}
}
