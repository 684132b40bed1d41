/**
 * Live transcription: audio arrives while it is recorded, and transcripts are sent meanwhile, divided into the turns of a
 * conversation or into segments of the audio. All times are seconds from the start of the audio. The arrival time of the
 * audio has no effect on the result.
 */
import type { Word } from "../speech-recognition/types.ts";

export interface LiveTranscriptionInput {
	/** Format of the samples. Default: the audio has a container that declares it. */
	samples?: {
		encoding: "linear16" | "flac" | "mulaw" | "amr-nb" | "amr-wb" | "opus" | "speex" | "g729";
		/** Hertz. */
		sample_rate: number;
		/** Number of interleaved channels. */
		channels: number;
	};
	language?: string;
	/** Text that sets the vocabulary. */
	prompt?: string;
	division: Turns | Segments;
}

/** Division into turns: a turn ends when the speaker has probably finished. */
export interface Turns {
	kind: "turns";
	/** Confidence, 0 to 1, at which a turn has ended. */
	eot_threshold: number;
	/** Confidence for `EagerEndOfTurn`. Default: no such events. */
	eager_eot_threshold?: number;
	/** Milliseconds of silence after which a turn ends, whatever the confidence. */
	eot_timeout_ms: number;
}

/** Division into segments: a segment ends at a pause or at a maximum length. The final segments cover all of the audio. */
export interface Segments {
	kind: "segments";
	/** Whether to send segments that are not final. */
	interim_results: boolean;
	/** Milliseconds of silence that count as a pause. Default: no pause ends a segment. */
	endpointing?: number;
	/** Whether to send `speech-started`. */
	vad_events: boolean;
	/** Milliseconds of silence after the last final word that end an utterance. Default: no `utterance-end` events. */
	utterance_end_ms?: number;
}

export type ListenCommand =
	| { kind: "audio"; bytes: Uint8Array }
	/** Ends the current turn or segment now. */
	| { kind: "finalize" };

/** The transcript from `start` to `end`. Later audio may change earlier words. */
export interface TranscriptSpan {
	start: number;
	end: number;
	transcript: string;
	words: Word[];
}

export type TurnEvent = "Update" | "StartOfTurn" | "EagerEndOfTurn" | "TurnResumed" | "EndOfTurn";

export type TranscriptionEvent =
	/** The complete turn so far. `EndOfTurn` repeats the text of `EagerEndOfTurn`, unless `TurnResumed` came between them. */
	| ({ kind: "turn"; event: TurnEvent; turn_index: number; end_of_turn_confidence: number } & TranscriptSpan)
	| ({ kind: "segment"; is_final: boolean; speech_final: boolean; from_finalize: boolean } & TranscriptSpan)
	| { kind: "speech-started"; timestamp: number }
	| { kind: "utterance-end"; last_word_end: number }
	/** Always the last event, unless the session failed. `duration` is the length of all audio that was sent. */
	| { kind: "ended"; duration: number; channels: number };

/**
 * A transcription session. Closing `writable` ends the audio: the remaining events follow, then `readable` ends. Aborting
 * `writable` or cancelling `readable` ends the session at once. The owner of the pair must do one of the three. If the
 * session fails, both streams error with an `AiError`. Both apply backpressure: while `readable` is not read, no audio is
 * processed.
 */
export interface LiveTranscription {
	writable: WritableStream<ListenCommand>;
	readable: ReadableStream<TranscriptionEvent>;
}
