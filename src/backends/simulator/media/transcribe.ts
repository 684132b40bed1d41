/**
 * Speech recognition. The simulator's own speech is transcribed exactly, from the text that its files carry. Of any
 * other sound it says what it measured, in brackets, so that nobody takes it for something that was heard.
 */
import type { Transcript, TranscriptionInput, TranscriptSegment, Word } from "../../../tasks/audio.ts";
import { readSoundFacts, type SoundFacts } from "./sound-facts.ts";
import { placeWords, spokenWords } from "./timing.ts";

const DEFAULT_LANGUAGE = "en";

export async function transcribe(input: TranscriptionInput): Promise<Transcript> {
	const facts = await readSoundFacts(input.audio);
	const text = facts.spoken ?? measured(facts);
	return {
		text,
		language: input.task === "translate" ? "en" : (input.language ?? DEFAULT_LANGUAGE),
		...(facts.duration !== undefined && {
			duration: facts.duration,
			...timed(text, {
				duration: facts.duration,
				temperature: input.temperature ?? 0,
				heard: facts.spoken !== undefined,
			}),
		}),
	};
}

function measured({ format, duration, rate, channels }: SoundFacts): string {
	const length = duration === undefined ? "an unknown length" : `${Number(duration.toFixed(1))} seconds`;
	const details = [
		...(rate === undefined ? [] : [`${rate} Hz`]),
		...(channels === undefined
			? []
			: [channels === 1 ? "mono" : channels === 2 ? "stereo" : `${channels} channels`]),
	];
	return `[Simulated transcript: ${[`${length} of ${format} audio`, ...details].join(", ")}.]`;
}

interface Timing {
	/** Seconds. */
	duration: number;
	temperature: number;
	/** Whether these are words that were said. */
	heard: boolean;
}

/** Words over the whole duration by their length, and a segment for each sentence. */
function timed(
	text: string,
	{ duration, temperature, heard }: Timing,
): Required<Pick<Transcript, "words" | "segments">> {
	const words: Word[] = [];
	const segments: TranscriptSegment[] = [];
	let open: { from: number; start: number } | undefined;
	const placed = placeWords(spokenWords(text), duration);
	for (const [index, { text: word, from, to, start, end, endsSentence }] of placed.entries()) {
		words.push({ word, start: round(start), end: round(end), ...(heard && { confidence: 1 }) });
		open ??= { from, start };
		if (!endsSentence && index < placed.length - 1) continue;
		segments.push({
			start: round(open.start),
			end: round(end),
			text: text.slice(open.from, to),
			temperature,
		});
		open = undefined;
	}
	return { words, segments };
}

/** To the millisecond. */
const round = (seconds: number): number => Math.round(seconds * 1000) / 1000;
