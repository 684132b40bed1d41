import type { TranscriptionEvent, TranscriptSpan } from "../../../tasks/live-transcription/types.ts";
import { placeWords, spokenWords } from "../media/timing.ts";
import type { Voice } from "./voice.ts";

/** Makes the events. Called after each window, always with the same `Voice`. */
export interface EventBuilder {
	process(voice: Voice): TranscriptionEvent[];
	finalize(voice: Voice): TranscriptionEvent[];
	/** The audio has ended. */
	end(voice: Voice): TranscriptionEvent[];
}

/** To the millisecond. */
export const inSeconds = (windows: number, windowSeconds: number): number =>
	Math.round(windows * windowSeconds * 1000) / 1000;

/** Whole milliseconds. */
export const silenceOf = ({ now, to }: Voice, windowSeconds: number): number =>
	Math.round((now - to) * windowSeconds * 1000);

/** A part of the audio. Positions are counted in windows. */
export interface Stretch {
	start: number;
	end: number;
	/** The number of windows with speech, the start of the first and the end of the last one. */
	spoken: number;
	speechStart: number;
	speechEnd: number;
}

/** The transcript is the duration of the speech: `[speech 1.2 s]`. */
export function spanOf(
	{ start, end, spoken, speechStart, speechEnd }: Stretch,
	windowSeconds: number,
): TranscriptSpan {
	const span = { start: inSeconds(start, windowSeconds), end: inSeconds(end, windowSeconds) };
	if (spoken === 0) return { ...span, transcript: "", words: [] };
	const transcript = `[speech ${(spoken * windowSeconds).toFixed(1)} s]`;
	const timedWords = placeWords(spokenWords(transcript), speechEnd - speechStart);
	return {
		...span,
		transcript,
		words: timedWords.map((word) => ({
			word: word.text,
			start: inSeconds(speechStart + word.start, windowSeconds),
			end: inSeconds(speechStart + word.end, windowSeconds),
			confidence: 1,
		})),
	};
}
