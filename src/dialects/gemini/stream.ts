/**
 * Converts chat streams to the events of `streamGenerateContent`: `data:` lines without an end mark. A call is one part, so
 * it is sent when the stream finishes. The last event has the finish reason of each candidate and the usage.
 */
import type { AiError } from "../../core/errors.ts";
import { laterUsage, type Usage } from "../../core/usage.ts";
import type { Part } from "../../models/gemini-wire.ts";
import { frame } from "../../streams/sse.ts";
import type {
	ChatChunk,
	ChatDelta,
	ToolCall,
	ToolCallDelta,
	WebSearchCall,
} from "../../tasks/text-generation/types.ts";
import { reasoningOf, toolCallFragments } from "../chat/chunks.ts";
import { unfinishedAnswer, writeChunks } from "../chat/events.ts";
import { sealOfBlock, sealOfField } from "../chat/sealed.ts";
import type { EventWriter } from "../dialect.ts";
import { geminiError } from "./errors.ts";
import { grounding } from "./grounding.ts";
import { callParts, candidate, EMPTY, googleReason, heading, usageMetadata } from "./reply.ts";
import { type GeminiRequest, showsThoughts } from "./request.ts";

export const geminiEvents: EventWriter = (events, context) => {
	const shows = showsThoughts(context.inputs as GeminiRequest);
	const candidates = new Map<number, Candidate>();
	let usage: Usage | undefined;
	let head: object | undefined;

	const event = (fields: object): string => frame({ ...fields, ...(head ?? heading("", context)) });
	return writeChunks(events, {
		add(chunk: ChatChunk): string {
			usage = laterUsage(usage, chunk.usage);
			head ??= heading(chunk.id, context);
			let out = "";
			for (const { index, delta, finish_reason } of chunk.choices) {
				const current = candidates.get(index) ?? new Candidate(context.uuid);
				candidates.set(index, current);
				const thoughts = shows ? reasoningOf(delta) : "";
				if (thoughts) out += event({ candidates: [candidate(index, [{ text: thoughts, thought: true }])] });
				const text = (delta.content ?? "") + (delta.refusal ?? "");
				current.text += text;
				if (delta.web_search?.outcome) current.searches.push(delta.web_search);
				current.annotations.push(...(delta.annotations ?? []));
				if (text) out += event({ candidates: [candidate(index, [{ text }])] });
				current.addSeals(delta);
				for (const call of delta.tool_calls ?? []) current.add(call);
				if (finish_reason === "error") throw unfinishedAnswer();
				current.reason = finish_reason ?? current.reason;
			}
			return out;
		},
		finish() {
			const last = [...candidates].map(([index, { reason, lastParts, searches, annotations, text }]) => ({
				...candidate(index, lastParts, googleReason(reason)),
				...grounding(text, searches, annotations),
			}));
			return event({ candidates: last, ...usageMetadata(usage, context) });
		},
		fail: (failure: AiError) => frame(geminiError(failure)),
	});
};

/** The parts of one candidate that are not sent yet. */
class Candidate {
	reason = "stop";
	text = "";
	readonly searches: WebSearchCall[] = [];
	/** Citations that the engine sent. */
	readonly annotations: unknown[] = [];
	/** The seals of all reasoning that is not a call's. */
	#seals = "";
	readonly #calls: ToolCall[] = [];
	readonly #fragmentOf: ReturnType<typeof toolCallFragments>;

	constructor(uuid: () => string) {
		this.#fragmentOf = toolCallFragments(() => `call_${uuid()}`);
	}

	add(sent: ToolCallDelta): void {
		if (!sent.function?.name && !sent.function?.arguments) return;
		const { index, start, arguments: fragment } = this.#fragmentOf(sent);
		const { extra_content } = sent;
		if (start)
			this.#calls[index] = {
				id: start.id,
				type: "function",
				function: { name: start.name, arguments: "" },
				...(extra_content && { extra_content }),
			};
		const call = this.#calls[index];
		if (call) call.function.arguments += fragment;
	}

	addSeals({ thinking_blocks, extra_content }: ChatDelta): void {
		this.#seals += (thinking_blocks ?? []).map(sealOfBlock).join("") + sealOfField(extra_content);
	}

	/** As in Gemini's streams, the signature of a text is in an empty part after it. */
	get lastParts(): Part[] {
		if (this.#calls.length > 0) return callParts(this.#calls, this.#seals);
		return [this.#seals ? { ...EMPTY, thoughtSignature: this.#seals } : EMPTY];
	}
}
