/**
 * Turns of a conversation: one begins with speech and ends with silence. The confidence that it has ended depends
 * only on the silence, as 1 - e^(-silence / 0.4 s): 0.3 after 0.14 s, 0.7 after 0.48 s, 0.9 after 0.92 s. A model also
 * uses the words.
 */
import type { TranscriptionEvent, TurnEvent, Turns } from "../../../tasks/live-transcription/types.ts";
import { type EventBuilder, silenceOf, spanOf } from "./event-builder.ts";
import type { Voice } from "./voice.ts";

/** 0.24 s, as in Deepgram's samples of Flux. */
const UPDATE_WINDOWS = 12;
const DOUBT_MS = 400;

interface Turn {
	/** The start of its first word. */
	from: number;
	/** Whether its end has been announced. */
	eager: boolean;
}

export class TurnBuilder implements EventBuilder {
	readonly #rules: Turns;
	readonly #windowSeconds: number;
	#turn: Turn | undefined;
	#index = 0;
	/** The start of the turn's audio, which is the end of the last turn, and the speech before it. */
	#start = 0;
	#before = 0;
	#lastEventAt = 0;

	constructor(rules: Turns, windowSeconds: number) {
		this.#rules = rules;
		this.#windowSeconds = windowSeconds;
	}

	process(voice: Voice): TranscriptionEvent[] {
		const event = this.#onset(voice) ?? this.#ending(voice);
		if (event) return [this.#event(event, voice)];
		return voice.now - this.#lastEventAt >= UPDATE_WINDOWS ? [this.#event("Update", voice)] : [];
	}

	finalize(voice: Voice): TranscriptionEvent[] {
		return this.#turn ? [this.#event("EndOfTurn", voice)] : [];
	}

	/** The end of the audio does not end a turn, as Deepgram documents for Flux. */
	end(voice: Voice): TranscriptionEvent[] {
		return voice.now > this.#lastEventAt ? [this.#event("Update", voice)] : [];
	}

	#onset({ speaking, spoken, from }: Voice): TurnEvent | undefined {
		if (!speaking) return;
		// Not in the gap after a turn that `finalize` ended during speech.
		if (!this.#turn && spoken > this.#before) {
			this.#turn = { from: Math.max(from, this.#start), eager: false };
			return "StartOfTurn";
		}
		if (!this.#turn?.eager) return;
		this.#turn.eager = false;
		return "TurnResumed";
	}

	#ending(voice: Voice): TurnEvent | undefined {
		if (!this.#turn || voice.speaking) return;
		const { eager_eot_threshold, eot_threshold, eot_timeout_ms } = this.#rules;
		const confidence = this.#confidence(voice);
		if (confidence >= eot_threshold || silenceOf(voice, this.#windowSeconds) >= eot_timeout_ms)
			return "EndOfTurn";
		if (this.#turn.eager || eager_eot_threshold === undefined || confidence < eager_eot_threshold) return;
		this.#turn.eager = true;
		return "EagerEndOfTurn";
	}

	/** Rounded to four digits before the comparison, so that the event has the compared value. */
	#confidence(voice: Voice): number {
		if (!this.#turn) return 0;
		return Math.round((1 - Math.exp(-silenceOf(voice, this.#windowSeconds) / DOUBT_MS)) * 1e4) / 1e4;
	}

	#event(event: TurnEvent, voice: Voice): TranscriptionEvent {
		const stretch = {
			start: this.#start,
			end: voice.now,
			spoken: voice.spoken - this.#before,
			speechStart: this.#turn?.from ?? voice.now,
			speechEnd: voice.to,
		};
		const built: TranscriptionEvent = {
			kind: "turn",
			event,
			turn_index: this.#index,
			...spanOf(stretch, this.#windowSeconds),
			end_of_turn_confidence: this.#confidence(voice),
		};
		this.#lastEventAt = voice.now;
		if (event === "EndOfTurn") {
			this.#turn = undefined;
			this.#index++;
			this.#start = voice.now;
			this.#before = voice.spoken;
		}
		return built;
	}
}
