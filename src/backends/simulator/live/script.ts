/**
 * The simulated speaker of live transcription: it says one sentence in each 4.8 s of audio, whatever the audio has. Only
 * the length of the audio counts, so the same audio gives the same events, for all sizes and times of its pieces. All
 * positions are milliseconds from the start of the audio.
 */
import type { TranscriptionEvent, TranscriptSpan } from "../../../tasks/live-transcription/types.ts";

/** The interval between events, as in Deepgram's samples of Flux. Each word takes one interval. */
export const STEP_MS = 240;
const SENTENCE_MS = 20 * STEP_MS;
const WORDS = ["This", "is", "simulated", "speech,", "and", "no", "model", "listened."];
/** The step at whose end each word ends. After the fourth word is a pause. */
const WORD_ENDS = [2, 3, 4, 5, 7, 8, 9, 10];

/** Makes the events of one division of the audio. `now` never decreases. */
export interface EventScript {
	/** Called at each multiple of `STEP_MS`. */
	step(now: number): TranscriptionEvent[];
	finalize(now: number): TranscriptionEvent[];
	/** The audio has ended. */
	end(now: number): TranscriptionEvent[];
}

/** The end of the last word that ends after `from` and not after `to`. */
export const lastWordEnd = (from: number, to: number): number | undefined =>
	wordsBetween(Math.max(from, to - SENTENCE_MS), to).at(-1)?.end;

/** The words that end after `from` and not after `to`. */
function wordsBetween(from: number, to: number): { word: string; start: number; end: number }[] {
	const first = Math.floor(from / SENTENCE_MS);
	const count = Math.floor(to / SENTENCE_MS) - first + 1;
	const sentences = Array.from({ length: count }, (_, index) => first + index);
	return sentences
		.flatMap((sentence) =>
			WORDS.map((word, place) => {
				const end = sentence * SENTENCE_MS + (WORD_ENDS[place] ?? 0) * STEP_MS;
				return { word, start: Math.max(from, end - STEP_MS), end };
			}),
		)
		.filter(({ end }) => end > from && end <= to);
}

export function spanOf(from: number, to: number): TranscriptSpan {
	const words = wordsBetween(from, to);
	return {
		start: from / 1000,
		end: to / 1000,
		transcript: words.map(({ word }) => word).join(" "),
		words: words.map(({ word, start, end }) => ({
			word,
			start: start / 1000,
			end: end / 1000,
			confidence: 1,
		})),
	};
}
