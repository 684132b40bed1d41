/** Tasks with sound on one side. */
import type { Media } from "./media.ts";

export interface TranscriptionInput {
	audio: Media;
	/** `translate`: into English. */
	task: "transcribe" | "translate";
	language?: string;
	/** Text that sets the vocabulary and the style. */
	prompt?: string;
	temperature?: number;
}

export interface Word {
	word: string;
	/** Seconds from the start. */
	start: number;
	end: number;
	confidence?: number;
}

export interface TranscriptSegment {
	start: number;
	end: number;
	text: string;
	temperature?: number;
	avg_logprob?: number;
	compression_ratio?: number;
	no_speech_prob?: number;
}

export interface Transcript {
	text: string;
	language?: string;
	/** Seconds. */
	duration?: number;
	segments?: TranscriptSegment[];
	words?: Word[];
}

export interface SpeechInput {
	text: string;
	voice?: string;
	language?: string;
	encoding: "mp3" | "linear16" | "flac" | "mulaw" | "alaw" | "opus" | "aac";
	/** Absent: the usual one for the encoding. */
	container?: "none" | "wav" | "ogg";
	/** Hertz. */
	sample_rate?: number;
	/** Bits per second. */
	bit_rate?: number;
	speed?: number;
}

export interface TurnInput {
	audio: Media;
	/** How the samples of headerless audio are written. */
	dtype?: "uint8" | "float32" | "float64";
}

export interface TurnOutput {
	is_complete: boolean;
	/** 0 to 1, that the speaker has finished. */
	probability: number;
}
