/**
 * Live transcription: sound goes in as it is made, and what was heard comes out while it lasts, divided into the turns
 * of a conversation or into segments of the sound. All times are seconds of sound from its beginning; when the sound
 * arrives decides nothing.
 */
import type { Word } from "./audio.ts";

export interface LiveTranscriptionInput {
	/** How the samples are written. Absent: in a container that says so itself. */
	samples?: {
		encoding: "linear16" | "flac" | "mulaw" | "amr-nb" | "amr-wb" | "opus" | "speex" | "g729";
		/** Hertz. */
		sample_rate: number;
		/** Interleaved. */
		channels: number;
	};
	language?: string;
	/** Text that sets the vocabulary. */
	prompt?: string;
	division: Turns | Segments;
}

/** A turn ends when the speaker has finished, as far as one can tell. */
export interface Turns {
	kind: "turns";
	/** Confidence, 0 to 1, from which a turn has ended. */
	eot_threshold: number;
	/** Confidence from which it may have. Absent: nobody wants to know. */
	eager_eot_threshold?: number;
	/** Milliseconds of silence after which a turn has ended whatever the confidence. */
	eot_timeout_ms: number;
}

/** A segment ends at a pause, or when it is long enough; together the final ones are all of the sound. */
export interface Segments {
	kind: "segments";
	/** Whether to tell of segments that are not final. */
	interim_results: boolean;
	/** Milliseconds of silence that make a pause. Absent: no pause ends a segment. */
	endpointing?: number;
	/** Whether to tell of speech that starts. */
	vad_events: boolean;
	/** Milliseconds of silence after the last final word that end an utterance. Absent: nobody wants to know. */
	utterance_end_ms?: number;
}

export type ListenCommand =
	| { kind: "audio"; bytes: Uint8Array }
	/** What has been said so far is all: ends the turn, or the segment, now. */
	| { kind: "finalize" };

/** What was heard from `start` to `end`. A word that is heard later may change those before it. */
export interface Heard {
	start: number;
	end: number;
	transcript: string;
	words: Word[];
}

export type TurnEvent = "Update" | "StartOfTurn" | "EagerEndOfTurn" | "TurnResumed" | "EndOfTurn";

export type HeardEvent =
	/** The whole turn so far. `EndOfTurn` says what `EagerEndOfTurn` said, or `TurnResumed` comes between them. */
	| ({ kind: "turn"; event: TurnEvent; turn_index: number; end_of_turn_confidence: number } & Heard)
	| ({ kind: "segment"; is_final: boolean; speech_final: boolean; from_finalize: boolean } & Heard)
	| { kind: "speech-started"; timestamp: number }
	| { kind: "utterance-end"; last_word_end: number }
	/** Always the last one, unless the session failed. `duration` counts all sound that was sent. */
	| { kind: "ended"; duration: number; channels: number };

/**
 * A session with an ear. Closing `writable` says that there is no more sound: the rest is told, then `readable` ends.
 * Aborting `writable`, or cancelling `readable`, ends it at once. Whoever holds the pair must do one of the three. A
 * failing session errors both with an `AiError`. Both take backpressure: an ear that nobody asks stops listening.
 */
export interface LiveTranscription {
	writable: WritableStream<ListenCommand>;
	readable: ReadableStream<HeardEvent>;
}
