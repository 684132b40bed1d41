/**
 * A stream that goes on when its engine does not: cut, silent or broken after its first event, the rest comes from the
 * next target, joined to the byte (`continuation.ts` asks, `rejoin.ts` joins).
 *
 * While all is well the events pass untouched, and their data is kept unread: only a failure makes texts of it. Where
 * nobody can go on, the stream errors with the failure that cut it. `: ganglion backend=… attempts=…` before the end tells of a change.
 */
import { failureOfTarget } from "../../backends/transport/upstream-failure.ts";
import { AiError, toAiError } from "../../core/errors.ts";
import type { Usage } from "../../core/usage.ts";
import { Approximation } from "../../counting/tally.ts";
import { completionToChunks, parseChunk } from "../../dialects/chat/chunks.ts";
import type { Source } from "../../streams/pulled-stream.ts";
import {
	DONE,
	type EventPiece,
	EventStream,
	frame,
	isDone,
	mapEvents,
	ownComment,
} from "../../streams/sse.ts";
import type { Answer, Progress } from "../../tasks/task.ts";
import { tallyReply } from "../../tasks/text-generation/tally.ts";
import type { ChatCompletion, ChatInput } from "../../tasks/text-generation/types.ts";
import type { PlannedTarget } from "../plan.ts";
import { isJoinable, type Question, questionsFor } from "./continuation.ts";
import { type Begun, conclude, type Journey } from "./dispatch-state.ts";
import { Mismatch, Rejoin } from "./replay-trimmer.ts";
import { verdictOf } from "./retry-policy.ts";
import { Said } from "./transcript.ts";

type StreamAnswer = Extract<Answer, { kind: "stream" }>;

/** Of events that are kept for a failure. A longer answer is not joined to another. */
const MAX_KEPT_LENGTH = 4 * 1024 * 1024;

/** Takes over `begun`, whose answer is a stream. */
export function splice(begun: Begun, answer: StreamAnswer, input: ChatInput, journey: Journey): StreamAnswer {
	const spliced = new Splice(begun, answer, input, journey);
	const events = new EventStream(spliced);
	return { kind: "stream", events, progress: spliced };
}

class Splice implements Progress, Source<EventPiece> {
	readonly #journey: Journey;
	readonly #input: ChatInput;
	readonly #left = new AbortController();
	readonly #signal: AbortSignal;
	#current: Begun;
	#source: Source<EventPiece>;
	#progress: Progress;
	/**
	 * What was said before the current engine's own count begins: it was told it, or repeats it. `tokens` are by our own
	 * count, `counted` by whoever said it, as far as that one counted.
	 */
	#before: { tokens: number; counted: number; repeated: boolean } | undefined;
	#rejoin: Rejoin | undefined;
	#kept: string[] | undefined;
	#keptLength = 0;
	#said: Said | undefined;
	/** What cut the answer first. It is the caller's to see, whatever those say who were asked to go on. */
	#failure: AiError | undefined;
	#over = false;
	/** Whose words reached the caller last. */
	#heard: PlannedTarget;

	constructor(begun: Begun, answer: StreamAnswer, input: ChatInput, journey: Journey) {
		this.#journey = journey;
		this.#input = input;
		this.#signal = AbortSignal.any([journey.context.signal, this.#left.signal]);
		this.#current = begun;
		this.#heard = begun.target;
		this.#source = EventStream.eventsOf(answer.events);
		this.#progress = answer.progress;
		if (isJoinable(input)) this.#kept = [];
	}

	get usage(): Usage | undefined {
		const { usage } = this.#progress;
		if (!usage) return undefined;
		const whole = this.#wholeUsage(usage);
		if (!this.#before?.repeated || this.#rejoin?.caughtUp) return whole;
		// One that counts with every event has not yet said again all that the caller has.
		const completion_tokens = Math.max(whole.completion_tokens, this.#before.counted);
		return { ...whole, completion_tokens, total_tokens: whole.prompt_tokens + completion_tokens };
	}

	get outputTokens(): number {
		const { outputTokens } = this.#progress;
		if (!this.#before) return outputTokens;
		const { repeated, tokens } = this.#before;
		return repeated ? Math.max(tokens, outputTokens) : tokens + outputTokens;
	}

	pull(): Promise<EventPiece | undefined> {
		return this.#source.pull().then(this.#pass, this.#mend);
	}

	readonly #pass = (piece: EventPiece | undefined): EventPiece | undefined => {
		if (this.#over) return undefined;
		if (piece) {
			this.#heard = this.#current.target;
			this.#keep(piece);
			return piece;
		}
		this.#over = true;
		this.#current.trial.succeed();
		return undefined;
	};

	readonly #mend = async (error: unknown): Promise<EventPiece | undefined> => {
		if (this.#over) return undefined;
		const failure = await this.#goOn(error);
		if (!failure) return this.pull();
		if (this.#over) return undefined;
		this.#over = true;
		// Whoever was asked since has told the caller nothing.
		const { served } = this.#journey;
		served.backend = this.#heard.backend;
		served.model = this.#heard.model;
		throw failure;
	};

	async cancel(reason: unknown): Promise<void> {
		this.#over = true;
		this.#current.trial.leave();
		// The current engine's stream may have failed already, and be replaced only now.
		const cancelled = this.#source.cancel(reason).catch(() => {});
		this.#left.abort(reason);
		await cancelled;
	}

	#keep({ events }: EventPiece): void {
		for (const event of events) {
			if (!this.#kept || "comment" in event) continue;
			this.#keptLength += event.data.length;
			if (this.#keptLength > MAX_KEPT_LENGTH) this.#kept = undefined;
			else this.#kept.push(event.data);
		}
	}

	/** Finds somebody to go on. The failure that ends the stream, where there is nobody. */
	async #goOn(error: unknown): Promise<AiError | undefined> {
		const journey = this.#journey;
		const said = this.#signal.aborted ? undefined : this.#readSaid();
		const otherwise = error instanceof Mismatch;
		const failure = otherwise ? this.#dropCurrent() : toAiError(error);
		if (!otherwise) conclude(this.#current.trial, this.#signal.aborted ? undefined : failure);
		const verdict = verdictOf(failure);
		if (this.#signal.aborted || verdict === "stop") return failure;
		this.#failure ??= failure;
		if (!said) return this.#failure;
		const { target: cut } = this.#current;
		journey.note(cut, failure);

		const { outputTokens } = this;
		for (let target = journey.take(); target; target = journey.take())
			if (await this.#askToGoOn(target, said, outputTokens)) return undefined;
		// The one that was cut comes last: who failed once is likelier to fail again.
		const again = !otherwise && verdict === "again" && journey.callsOf(cut) < journey.plan.retries.attempts;
		if (again && (await this.#askToGoOn(cut, said, outputTokens))) return undefined;
		journey.tell();
		return this.#signal.aborted ? new AiError("aborted") : told(journey.inTurn(this.#failure));
	}

	/** The engine is well, but what it says is no continuation of what was said. */
	#dropCurrent(): AiError {
		const { target, trial } = this.#current;
		trial.succeed();
		this.#waste();
		this.#progress = { usage: undefined, outputTokens: this.#before?.tokens ?? 0 };
		this.#before = undefined;
		return failureOfTarget(target, "executionFailed", "answered otherwise than the one before it");
	}

	#waste(): void {
		const { backend, model } = this.#current.target;
		const { usage, outputTokens } = this.#progress;
		this.#journey.served.wasted.push({ why: "cut", backend, model, progress: { usage, outputTokens } });
	}

	/** `undefined`: nobody can go on from there. */
	#readSaid(): Said | undefined {
		if (this.#said) return this.#said;
		if (!this.#kept) return undefined;
		const said = new Said(this.#journey.services.uuid);
		try {
			for (const data of this.#kept) said.addEvent(data);
		} catch {
			return undefined;
		}
		this.#kept = undefined;
		this.#said = said;
		return said;
	}

	async #askToGoOn(target: Begun["target"], said: Said, saidTokens: number): Promise<boolean> {
		const journey = this.#journey;
		for (const question of questionsFor(target, this.#input, said, saidTokens)) {
			const call = { task: "text-generation", input: question.input } as const;
			try {
				const begun = await journey.ask(target, call, this.#signal);
				if (this.#over) journey.discard(begun);
				else this.#switchTo(begun, question, said, saidTokens);
				return true;
			} catch (error) {
				if (this.#signal.aborted) return false;
				const refused = toAiError(error);
				journey.note(target, refused);
				// It refuses what was begun by another: it may still answer the question itself.
				if (!(question.continues && verdictOf(refused) === "stop")) return false;
			}
		}
		return false;
	}

	#switchTo(begun: Begun, question: Question, said: Said, saidTokens: number): void {
		const { services, served } = this.#journey;
		const { answer } = begun;
		// What another says again is paid to that one; what it goes on from is part of the answer.
		if (!question.continues && saidTokens > 0) this.#waste();
		const counted = this.usage?.completion_tokens ?? saidTokens;
		this.#current = begun;
		this.#before = { tokens: saidTokens, counted, repeated: !question.continues };
		this.#journey.settleOn(begun.target);
		const rejoin = new Rejoin(said, question.expected, services.uuid);
		this.#rejoin = rejoin;
		const source =
			answer.kind === "stream" ? answer.events : completionToChunks(answer.output as ChatCompletion);
		this.#progress =
			answer.kind === "stream" ? answer.progress : wholeProgress(answer.output as ChatCompletion);
		const events = mapEvents(source, {
			onData: (data, value) => {
				if (isDone(data)) return ownComment(`backend=${served.backend} attempts=${served.attempts}`) + DONE;
				const sent = parseChunk(data, value);
				const fresh = sent === "done" ? undefined : rejoin.take(sent);
				if (!fresh) return "";
				said.add(fresh);
				return frame(fresh.usage ? { ...fresh, usage: this.#wholeUsage(fresh.usage) } : fresh);
			},
		});
		this.#source = EventStream.eventsOf(events);
	}

	/** As if the current engine had said everything: one that went on counts what it was told as its prompt. */
	#wholeUsage(usage: Usage): Usage {
		if (!this.#before || this.#before.repeated) return usage;
		const told = Math.min(this.#before.tokens, usage.prompt_tokens);
		return {
			...usage,
			prompt_tokens: usage.prompt_tokens - told,
			completion_tokens: usage.completion_tokens + told,
		};
	}
}

/** The same for the caller, and nothing for the log, which has it. */
const told = ({ key, description, retryAfter }: AiError): AiError =>
	new AiError(key, description, retryAfter === undefined ? {} : { retryAfter });

/** By our own count where the engine sends none. */
function wholeProgress(reply: ChatCompletion): Progress {
	const usage = reply.usage ?? undefined;
	if (usage) return { usage, outputTokens: usage.completion_tokens };
	const tally = new Approximation();
	tallyReply(reply, tally);
	return { usage, outputTokens: tally.tokens };
}
