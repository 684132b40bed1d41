import type { TranscriptionEvent, TranscriptSpan } from "../../../tasks/live-transcription/types.ts";
import { placeWords, spokenWords } from "../media/timing.ts";
import type { Voice } from "./voice.ts";

/** Tells what the voice did. It is asked after each window; the voice is the same object each time. */
export interface Narrator {
	hear(voice: Voice): TranscriptionEvent[];
	finalize(voice: Voice): TranscriptionEvent[];
	/** There is no more sound. */
	end(voice: Voice): TranscriptionEvent[];
}

/** To the millisecond. */
export const inSeconds = (windows: number, windowSeconds: number): number =>
	Math.round(windows * windowSeconds * 1000) / 1000;

/** Milliseconds, whole ones. */
export const silenceOf = ({ now, to }: Voice, windowSeconds: number): number =>
	Math.round((now - to) * windowSeconds * 1000);

/** A stretch of sound. Positions are windows. */
export interface Stretch {
	start: number;
	end: number;
	/** Windows of speech in it, and where the first begins and the last ends. */
	spoken: number;
	speechStart: number;
	speechEnd: number;
}

/** `[speech 1.2 s]`: what is known of speech that nobody understands. */
export function tell(
	{ start, end, spoken, speechStart, speechEnd }: Stretch,
	windowSeconds: number,
): TranscriptSpan {
	const span = { start: inSeconds(start, windowSeconds), end: inSeconds(end, windowSeconds) };
	if (spoken === 0) return { ...span, transcript: "", words: [] };
	const transcript = `[speech ${(spoken * windowSeconds).toFixed(1)} s]`;
	const placed = placeWords(spokenWords(transcript), speechEnd - speechStart);
	return {
		...span,
		transcript,
		words: placed.map((word) => ({
			word: word.text,
			start: inSeconds(speechStart + word.start, windowSeconds),
			end: inSeconds(speechStart + word.end, windowSeconds),
			confidence: 1,
		})),
	};
}
