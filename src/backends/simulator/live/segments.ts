/** Segments of the audio, one after the other without gaps: each ends at a pause in speech, or after five seconds. */
import type { Segments, TranscriptionEvent } from "../../../tasks/live-transcription/types.ts";
import { type EventBuilder, inSeconds, silenceOf, spanOf } from "./event-builder.ts";
import type { Voice } from "./voice.ts";

/** 5 s. */
const LONGEST_WINDOWS = 250;
/** 1 s between two that are not final. */
const INTERIM_WINDOWS = 50;

interface Ending {
	is_final: boolean;
	speech_final: boolean;
	from_finalize: boolean;
}

export class SegmentBuilder implements EventBuilder {
	readonly #rules: Segments;
	readonly #windowSeconds: number;
	#start = 0;
	/** What the voice had spoken before this segment, and before the last pause. */
	#before = 0;
	#pausedAt = 0;
	/** Where this segment's first word begins. */
	#speechStart: number | undefined;
	#lastEventAt = 0;
	/** Whether words are final whose utterance may not have ended. */
	#open = false;

	constructor(rules: Segments, windowSeconds: number) {
		this.#rules = rules;
		this.#windowSeconds = windowSeconds;
	}

	process(voice: Voice): TranscriptionEvent[] {
		if (voice.spoken > this.#before) this.#speechStart ??= Math.max(voice.from, this.#start);
		return [...this.#onset(voice), ...this.#segment(voice), ...this.#utterance(voice)];
	}

	finalize(voice: Voice): TranscriptionEvent[] {
		return this.#rest(voice, true);
	}

	end(voice: Voice): TranscriptionEvent[] {
		return this.#rest(voice, false);
	}

	#onset({ started, from }: Voice): TranscriptionEvent[] {
		if (!started || !this.#rules.vad_events) return [];
		return [{ kind: "speech-started", timestamp: inSeconds(from, this.#windowSeconds) }];
	}

	#segment(voice: Voice): TranscriptionEvent[] {
		const { endpointing, interim_results } = this.#rules;
		const pauses =
			voice.spoken > this.#pausedAt &&
			!voice.speaking &&
			endpointing !== undefined &&
			silenceOf(voice, this.#windowSeconds) >= endpointing;
		if (pauses || voice.now - this.#start >= LONGEST_WINDOWS)
			return [this.#event(voice, { is_final: true, speech_final: pauses, from_finalize: false })];
		if (interim_results && voice.now - this.#lastEventAt >= INTERIM_WINDOWS)
			return [this.#event(voice, { is_final: false, speech_final: false, from_finalize: false })];
		return [];
	}

	/** Follows a final segment: words that are not final could still change. */
	#utterance(voice: Voice): TranscriptionEvent[] {
		const { utterance_end_ms } = this.#rules;
		if (utterance_end_ms === undefined || !this.#open || this.#speechStart !== undefined) return [];
		if (voice.speaking || silenceOf(voice, this.#windowSeconds) < utterance_end_ms) return [];
		this.#open = false;
		return [{ kind: "utterance-end", last_word_end: inSeconds(voice.to, this.#windowSeconds) }];
	}

	#rest(voice: Voice, from_finalize: boolean): TranscriptionEvent[] {
		if (voice.now === this.#start) return [];
		return [
			this.#event(voice, { is_final: true, speech_final: voice.spoken > this.#pausedAt, from_finalize }),
		];
	}

	#event(voice: Voice, ending: Ending): TranscriptionEvent {
		const stretch = {
			start: this.#start,
			end: voice.now,
			spoken: voice.spoken - this.#before,
			speechStart: this.#speechStart ?? voice.now,
			speechEnd: voice.to,
		};
		this.#lastEventAt = voice.now;
		if (ending.speech_final) this.#pausedAt = voice.spoken;
		if (ending.is_final) {
			this.#open ||= this.#speechStart !== undefined;
			this.#start = voice.now;
			this.#before = voice.spoken;
			this.#speechStart = undefined;
		}
		return { kind: "segment", ...spanOf(stretch, this.#windowSeconds), ...ending };
	}
}
