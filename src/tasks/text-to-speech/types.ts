/** Input of text-to-speech. The output is a media file. */

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
