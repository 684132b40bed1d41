/** Text to speech. The output is a media file. */
import { exact, measuredAudio, upperBound } from "../../counting/quantities.ts";
import { codePoints, utf8Length } from "../../counting/text.ts";
import type { Media } from "../../media/media.ts";
import type { TaskDefinition } from "../definition.ts";
import type { Extended } from "../extensions.ts";

export interface SpeechInput extends Extended {
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

/** Slow speech in any script: a Latin letter is one byte, a syllable of another script two or three. */
const BYTES_PER_SECOND = 4;
const MIN_SECONDS = 2;
const MIN_SPEED = 0.25;

export const textToSpeech: TaskDefinition<SpeechInput, Media> = {
	estimate({ text, speed = 1 }) {
		const seconds = utf8Length(text) / BYTES_PER_SECOND / Math.max(MIN_SPEED, speed);
		return upperBound({ characters: codePoints(text), audioSeconds: MIN_SECONDS + seconds });
	},
	measure({ text }, audio, { prices }) {
		const characters = codePoints(text);
		return prices.some(({ unit }) => unit === "per audio minute")
			? measuredAudio(audio, { others: { characters } })
			: exact({ characters });
	},
};
