/**
 * Turns of a conversation: one begins with the first word and ends with silence. The confidence that it has ended depends
 * only on the silence, as 1 - e^(-silence / 0.4 s): 0.45 after one step, 0.7 after two, 0.91 after four. A model also uses
 * the words.
 */
import type { TranscriptionEvent, TurnEvent, Turns } from "../../../tasks/live-transcription/types.ts";
import { type EventScript, lastWordEnd, spanOf } from "./script.ts";

const DOUBT_MS = 400;

export class TurnScript implements EventScript {
	readonly #rules: Turns;
	#index = 0;
	/** The end of the last turn. */
	#start = 0;
	#lastEventAt = 0;
	#isOpen = false;
	/** Whether the end of the turn was announced early. */
	#isEager = false;

	constructor(rules: Turns) {
		this.#rules = rules;
	}

	step(now: number): TranscriptionEvent[] {
		return [this.#event(this.#changeAt(now), now)];
	}

	finalize(now: number): TranscriptionEvent[] {
		return this.#isOpen ? [this.#event("EndOfTurn", now)] : [];
	}

	/** The end of the audio does not end a turn, as Deepgram documents for Flux. */
	end(now: number): TranscriptionEvent[] {
		return now > this.#lastEventAt ? [this.#event("Update", now)] : [];
	}

	#silenceAt(now: number): number {
		return now - (lastWordEnd(this.#start, now) ?? now);
	}

	/** Rounded to four digits before the comparison, so that the event has the compared value. */
	#confidenceAt(now: number): number {
		return Math.round((1 - Math.exp(-this.#silenceAt(now) / DOUBT_MS)) * 1e4) / 1e4;
	}

	#changeAt(now: number): TurnEvent {
		if (!this.#isOpen) {
			this.#isOpen = lastWordEnd(this.#start, now) !== undefined;
			return this.#isOpen ? "StartOfTurn" : "Update";
		}
		const { eager_eot_threshold, eot_threshold, eot_timeout_ms } = this.#rules;
		const wasEager = this.#isEager;
		const silence = this.#silenceAt(now);
		const confidence = this.#confidenceAt(now);
		if (confidence >= eot_threshold || silence >= eot_timeout_ms) return "EndOfTurn";
		this.#isEager =
			silence > 0 && (wasEager || (eager_eot_threshold !== undefined && confidence >= eager_eot_threshold));
		if (this.#isEager === wasEager) return "Update";
		return wasEager ? "TurnResumed" : "EagerEndOfTurn";
	}

	#event(event: TurnEvent, now: number): TranscriptionEvent {
		const built: TranscriptionEvent = {
			kind: "turn",
			event,
			turn_index: this.#index,
			...spanOf(this.#start, now),
			end_of_turn_confidence: this.#confidenceAt(now),
		};
		this.#lastEventAt = now;
		if (event === "EndOfTurn") {
			this.#isOpen = this.#isEager = false;
			this.#index++;
			this.#start = now;
		}
		return built;
	}
}
