/** Inputs and outputs of the tasks on recorded audio: transcription, text-to-speech, turn detection. */
import type { Media } from "./media.ts";

export interface TranscriptionInput {
	audio: Media;
	/** `translate` writes English, whatever the language of the audio. */
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
	/** Default: the usual container of the encoding. */
	container?: "none" | "wav" | "ogg";
	/** Hertz. */
	sample_rate?: number;
	/** Bits per second. */
	bit_rate?: number;
	speed?: number;
}

export interface TurnInput {
	audio: Media;
	/** Sample format of headerless audio. */
	dtype?: "uint8" | "float32" | "float64";
}

export interface TurnOutput {
	is_complete: boolean;
	/** Probability, 0 to 1, that the speaker has finished. */
	probability: number;
}
