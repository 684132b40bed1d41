/** Segments of the audio, one after the other without gaps: each ends at a pause in speech, or after 4.8 s. */
import type { Segments, TranscriptionEvent } from "../../../tasks/live-transcription/types.ts";
import { type EventScript, lastWordEnd, STEP_MS, spanOf } from "./script.ts";

const LONGEST_MS = 20 * STEP_MS;
/** Between two segments that are not final. */
const INTERIM_MS = 4 * STEP_MS;

interface Ending {
	is_final: boolean;
	speech_final: boolean;
	from_finalize: boolean;
}

export class SegmentScript implements EventScript {
	readonly #rules: Segments;
	#start = 0;
	#lastEventAt = 0;
	/** The last pause, and the last final word whose utterance may not have ended. */
	#pausedAt = 0;
	#openWordEnd: number | undefined;

	constructor(rules: Segments) {
		this.#rules = rules;
	}

	step(now: number): TranscriptionEvent[] {
		return [...this.#onset(now), ...this.#segment(now), ...this.#utterance(now)];
	}

	finalize(now: number): TranscriptionEvent[] {
		return this.#remainder(now, true);
	}

	end(now: number): TranscriptionEvent[] {
		return this.#remainder(now, false);
	}

	#onset(now: number): TranscriptionEvent[] {
		const from = now - STEP_MS;
		const started = lastWordEnd(from, now) && lastWordEnd(from - STEP_MS, from) === undefined;
		return started && this.#rules.vad_events ? [{ kind: "speech-started", timestamp: from / 1000 }] : [];
	}

	#segment(now: number): TranscriptionEvent[] {
		const { endpointing = Number.POSITIVE_INFINITY, interim_results } = this.#rules;
		const silence = now - (lastWordEnd(this.#pausedAt, now) ?? now);
		const pauses = silence > 0 && silence >= endpointing;
		if (pauses || now - this.#start >= LONGEST_MS)
			return [this.#event(now, { is_final: true, speech_final: pauses, from_finalize: false })];
		if (interim_results && now - this.#lastEventAt >= INTERIM_MS)
			return [this.#event(now, { is_final: false, speech_final: false, from_finalize: false })];
		return [];
	}

	/** Follows a final segment: words that are not final could still change. */
	#utterance(now: number): TranscriptionEvent[] {
		const { utterance_end_ms = Number.POSITIVE_INFINITY } = this.#rules;
		const end = this.#openWordEnd;
		if (end === undefined || now - end < utterance_end_ms || lastWordEnd(this.#start, now)) return [];
		this.#openWordEnd = undefined;
		return [{ kind: "utterance-end", last_word_end: end / 1000 }];
	}

	#remainder(now: number, from_finalize: boolean): TranscriptionEvent[] {
		const speech_final = lastWordEnd(this.#pausedAt, now) !== undefined;
		return now > this.#start ? [this.#event(now, { is_final: true, speech_final, from_finalize })] : [];
	}

	#event(now: number, ending: Ending): TranscriptionEvent {
		const span = spanOf(this.#start, now);
		this.#lastEventAt = now;
		if (ending.speech_final) this.#pausedAt = now;
		if (ending.is_final) {
			this.#openWordEnd = lastWordEnd(this.#start, now) ?? this.#openWordEnd;
			this.#start = now;
		}
		return { kind: "segment", ...span, ...ending };
	}
}
