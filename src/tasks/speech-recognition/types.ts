/** Input and output of speech recognition. */
import type { Media } from "../../media/media.ts";
import type { Extended } from "../extensions.ts";

export interface TranscriptionInput extends Extended {
	audio: Media;
	/** `translate` writes English, whatever the language of the audio. */
	task: "transcribe" | "translate";
	language?: string;
	/** Text that sets the vocabulary and the style. */
	prompt?: string;
	temperature?: number;
	/** The answer needs the times of segments or words: subtitles. */
	needsTimes?: true;
}

export interface Word {
	word: string;
	/** Seconds from the start. */
	start: number;
	end: number;
	confidence?: number;
	/** From 0, if speakers are distinguished. */
	speaker?: number;
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
	/** Seconds of the audio in which the engine found speech, if it removed the others (`vad_filter`). */
	duration_after_vad?: number;
	segments?: TranscriptSegment[];
	words?: Word[];
	/** Further results of Deepgram's models, such as `summary`, as the service sent them. */
	analysis?: Record<string, unknown>;
}
