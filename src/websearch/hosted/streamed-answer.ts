/** A streamed answer with web searches: the streams of all rounds as one. */
import { callSeal } from "../../backends/sealed-messages.ts";
import { chatAnswer } from "../../dialects/chat/call.ts";
import { parseChunk, reasoningOf } from "../../dialects/chat/chunks.ts";
import { citationsIn, sourcesOf, urlCitation } from "../../dialects/chat/citations.ts";
import type { Reply } from "../../pipeline/request.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";
import { DONE, EventStream, frame } from "../../streams/sse.ts";
import type { ChatChunk, ChatDelta, WebSearchCall } from "../../tasks/text-generation/types.ts";
import type { RoundCalls } from "./round-calls.ts";
import type { Round } from "./rounds.ts";
import { emptyRound, type RoundSearch, type RoundText, type SearchLoop } from "./search-loop.ts";

/** `continued`: searches that an earlier answer has left. */
export function streamedAnswer(first: Round, loop: SearchLoop, continued: readonly WebSearchCall[]): Reply {
	const { context, reply, writer } = first;
	const answer = new StreamedAnswer(first, loop, continued);
	const frames = answer.frames();
	const encoder = new TextEncoder();
	const events = new PulledStream<Uint8Array>({
		async pull() {
			const { done, value } = await frames.next();
			return done ? undefined : encoder.encode(value);
		},
		cancel: (reason) => answer.cancel(reason),
	});
	const progress = { usage: undefined, outputTokens: 0 };
	const body = writer.write(chatAnswer({ kind: "stream", events, progress }), loop.contextOf(context));
	return { ...reply, body };
}

class StreamedAnswer {
	readonly #first: Round;
	readonly #loop: SearchLoop;
	readonly #continued: readonly WebSearchCall[];
	#head: Pick<ChatChunk, "id" | "object" | "created" | "model"> | undefined;
	/** Of all rounds. */
	#text = "";
	readonly #finished: WebSearchCall[];
	#cancelRound: ((reason: unknown) => Promise<void>) | undefined;

	constructor(first: Round, loop: SearchLoop, continued: readonly WebSearchCall[]) {
		this.#first = first;
		this.#loop = loop;
		this.#continued = continued;
		this.#finished = [...continued];
	}

	async cancel(reason: unknown): Promise<void> {
		this.#loop.stop(reason);
		await this.#cancelRound?.(reason);
	}

	/** Throws the failure of a round. */
	async *frames(): AsyncGenerator<string, void, undefined> {
		let round = this.#first;
		for (const call of this.#continued) yield* this.#shown(call);
		for (;;) {
			const calls = this.#loop.newCalls();
			const text = emptyRound();
			const finishReason = yield* this.#pass(round, calls, text);
			const step = this.#loop.after(text, calls);
			if (step.kind === "end") {
				for (const call of step.left) yield* this.#shown(call);
				yield* this.#release(calls, "");
				yield this.#end(step.finishReason ?? finishReason);
				return;
			}
			const ended = yield* this.#searched(step.searches);
			if (step.finishReason !== undefined) {
				yield* this.#release(calls, this.#loop.seal(ended));
				yield this.#end(step.finishReason);
				return;
			}
			this.#loop.add(text, ended);
			round = await this.#loop.next();
		}
	}

	/** Runs the searches of a round at once, and shows them in their order. */
	async *#searched(searches: readonly RoundSearch[]): AsyncGenerator<string, RoundSearch[], undefined> {
		const running = searches.map((each) => ({
			each,
			outcome: this.#loop.searches.run(each.search, this.#loop.signal),
		}));
		// A search may fail before its turn.
		for (const { outcome } of running) outcome.catch(() => {});
		const ended: RoundSearch[] = [];
		for (const { each, outcome } of running) {
			yield* this.#shown(each.search);
			const search = await outcome;
			this.#finished.push(search);
			yield* this.#shown(search);
			ended.push({ ...each, search });
		}
		return ended;
	}

	/** Sends the calls that have waited, and the seal if no call can carry it. */
	*#release(calls: RoundCalls, seal: string): Generator<string, void, undefined> {
		const { deltas, unsent } = calls.release(seal);
		for (const delta of deltas) yield this.#frame({ index: 0, delta: { tool_calls: [delta] } });
		if (unsent && calls.hasCallerCalls) yield this.#frame({ index: 0, delta: callSeal(unsent) });
	}

	/** Sends the text of a round and the calls of the caller's tools. Returns the finish reason, which is held back. */
	async *#pass(
		{ answer }: Round,
		calls: RoundCalls,
		text: RoundText,
	): AsyncGenerator<string, string | undefined, undefined> {
		if (answer.kind !== "stream") throw new TypeError("A round of a streamed answer is complete");
		const source = EventStream.eventsOf(answer.events);
		this.#cancelRound = (reason) => source.cancel(reason);
		let finishReason: string | undefined;
		for (let piece = await source.pull(); piece; piece = await source.pull())
			for (const event of piece.events) {
				if ("comment" in event) continue;
				const chunk = parseChunk(event.data, event.value);
				if (chunk === "done") continue;
				text.usage = chunk.usage ?? text.usage;
				const [choice] = chunk.choices;
				if (!choice) continue;
				finishReason = choice.finish_reason ?? finishReason;
				yield* this.#forward(chunk, calls, text);
			}
		this.#cancelRound = undefined;
		return finishReason;
	}

	*#forward(chunk: ChatChunk, calls: RoundCalls, text: RoundText): Generator<string, void, undefined> {
		const { id, object, created, model, choices } = chunk;
		const isFirst = this.#head === undefined;
		this.#head ??= { id, object, created, model };
		const [choice] = choices;
		if (!choice) return;
		const { tool_calls, role, ...delta } = choice.delta;
		const holds = !this.#loop.hosted.style.leavesPending;
		const callerCalls = (tool_calls ?? []).flatMap((call) => calls.add(call, holds) ?? []);
		text.content += delta.content ?? "";
		text.reasoning += reasoningOf(delta);
		text.thinking_blocks.push(...(delta.thinking_blocks ?? []));
		this.#text += delta.content ?? "";
		const shown: ChatDelta = {
			...(isFirst && role != null && { role }),
			...delta,
			...(callerCalls.length > 0 && { tool_calls: callerCalls }),
		};
		const isEmpty = Object.values(shown).every(
			(value) => value === null || value === undefined || value === "",
		);
		if (isFirst || !isEmpty) yield this.#frame({ ...choice, delta: shown, finish_reason: null });
	}

	*#shown(call: WebSearchCall): Generator<string, void, undefined> {
		if (this.#loop.hosted.style.showsSearches) yield this.#frame({ index: 0, delta: { web_search: call } });
	}

	#frame(choice: ChatChunk["choices"][number]): string {
		const head = this.#head ?? { id: "", object: "chat.completion.chunk", created: 0, model: "" };
		return frame({ ...head, choices: [choice] });
	}

	#end(finishReason = "stop"): string {
		const { usage } = this.#loop;
		const citations = this.#loop.hosted.style.showsSearches
			? []
			: citationsIn(this.#text, sourcesOf(this.#finished));
		const annotations = citations.map((citation) => ({
			type: "url_citation",
			url_citation: urlCitation(citation),
		}));
		return [
			...(annotations.length > 0 ? [this.#frame({ index: 0, delta: { annotations } as ChatDelta })] : []),
			this.#frame({ index: 0, delta: {}, finish_reason: finishReason }),
			...(usage ? [frame({ ...this.#head, choices: [], usage })] : []),
			DONE,
		].join("");
	}
}
