/**
 * Turns of a conversation: one begins with speech and ends with silence. Confidence that it has ended grows with the
 * silence alone, as 1 - e^(-silence / 0.4 s): 0.3 after 0.14 s, 0.7 after 0.48 s, 0.9 after 0.92 s. A model would
 * listen to the words as well.
 */
import type { TranscriptionEvent, TurnEvent, Turns } from "../../../tasks/live-transcription/types.ts";
import { type Narrator, silenceOf, tell } from "./narrator.ts";
import type { Voice } from "./voice.ts";

/** 0.24 s, as in Deepgram's samples of Flux. */
const UPDATE_WINDOWS = 12;
const DOUBT_MS = 400;

interface Turn {
	/** Where its first word begins. */
	from: number;
	/** Whether its end has been announced. */
	eager: boolean;
}

export class TurnNarrator implements Narrator {
	readonly #rules: Turns;
	readonly #windowSeconds: number;
	#turn: Turn | undefined;
	#index = 0;
	/** Where this turn's sound begins, which is where the last turn ended, and what had been spoken by then. */
	#start = 0;
	#before = 0;
	#toldAt = 0;

	constructor(rules: Turns, windowSeconds: number) {
		this.#rules = rules;
		this.#windowSeconds = windowSeconds;
	}

	hear(voice: Voice): TranscriptionEvent[] {
		const event = this.#onset(voice) ?? this.#ending(voice);
		if (event) return [this.#tell(event, voice)];
		return voice.now - this.#toldAt >= UPDATE_WINDOWS ? [this.#tell("Update", voice)] : [];
	}

	finalize(voice: Voice): TranscriptionEvent[] {
		return this.#turn ? [this.#tell("EndOfTurn", voice)] : [];
	}

	/** As Deepgram documents it of Flux: the end of the sound does not end a turn. */
	end(voice: Voice): TranscriptionEvent[] {
		return voice.now > this.#toldAt ? [this.#tell("Update", voice)] : [];
	}

	#onset({ speaking, spoken, from }: Voice): TurnEvent | undefined {
		if (!speaking) return;
		// Not in the gap after a turn that was ended while someone spoke.
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

	/** To four digits, so that what is told is what was compared. */
	#confidence(voice: Voice): number {
		if (!this.#turn) return 0;
		return Math.round((1 - Math.exp(-silenceOf(voice, this.#windowSeconds) / DOUBT_MS)) * 1e4) / 1e4;
	}

	#tell(event: TurnEvent, voice: Voice): TranscriptionEvent {
		const stretch = {
			start: this.#start,
			end: voice.now,
			spoken: voice.spoken - this.#before,
			speechStart: this.#turn?.from ?? voice.now,
			speechEnd: voice.to,
		};
		const told: TranscriptionEvent = {
			kind: "turn",
			event,
			turn_index: this.#index,
			...tell(stretch, this.#windowSeconds),
			end_of_turn_confidence: this.#confidence(voice),
		};
		this.#toldAt = voice.now;
		if (event === "EndOfTurn") {
			this.#turn = undefined;
			this.#index++;
			this.#start = voice.now;
			this.#before = voice.spoken;
		}
		return told;
	}
}
