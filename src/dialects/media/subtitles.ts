/** Transcripts as subtitles: WebVTT (w3.org/TR/webvtt1) and SubRip. */
import type { Transcript, TranscriptSegment, Word } from "../../tasks/speech-recognition/types.ts";

interface Cue {
	/** Seconds. Cues are sorted by their start, and `end` is after `start`. */
	start: number;
	end: number;
	/** One line. */
	text: string;
	words: Word[];
	/** The engine's segment, if the cue is one. */
	segment?: TranscriptSegment;
}

/** For words without segments: a cue ends at a pause, at the end of a sentence, or at its maximum length. */
const PAUSE_SECONDS = 1;
const CUE_SECONDS = 6;
const CUE_CHARACTERS = 80;
const SENTENCE_END = /[.?!…。？！]["'”’)]*$/;

/** Both formats have millisecond resolution and no cues of zero length. */
const MS_PER_SECOND = 1000;

/** Empty for a transcript without times. */
export function cuesOf({ text, duration, segments, words = [] }: Transcript): Cue[] {
	if (segments?.length) {
		const cues = segments.map((segment) => {
			const { start, end, text } = segment;
			return { start, end, text, words: [], segment };
		});
		return assignWords(words, normalizeCues(cues));
	}
	if (words.length > 0) return normalizeCues(groupWords(words));
	return duration ? normalizeCues([{ start: 0, end: duration, text, words: [] }]) : [];
}

/** Sorts cues, rounds their times, removes white space and drops cues without text. */
function normalizeCues(cues: Cue[]): Cue[] {
	return cues
		.map((cue) => {
			const start = Math.round(Math.max(0, cue.start) * MS_PER_SECOND);
			const end = Math.max(Math.round(cue.end * MS_PER_SECOND), start + 1);
			const text = cue.text.replace(/\s+/g, " ").trim();
			return { ...cue, start: start / MS_PER_SECOND, end: end / MS_PER_SECOND, text };
		})
		.filter(({ text }) => text !== "")
		.sort((a, b) => a.start - b.start);
}

function groupWords(words: Word[]): Cue[] {
	// Whisper's words have leading spaces, except in languages such as Chinese. Deepgram's words never do.
	const separator = words.some(({ word }) => word.startsWith(" ")) ? "" : " ";
	const cues: Cue[] = [];
	let cue: Cue | undefined;
	for (const word of words) {
		const fits =
			cue !== undefined &&
			word.start - cue.end <= PAUSE_SECONDS &&
			word.end - cue.start <= CUE_SECONDS &&
			cue.text.length + word.word.length < CUE_CHARACTERS &&
			!SENTENCE_END.test(cue.text);
		if (cue && fits) {
			cue.text += separator + word.word;
			cue.end = word.end;
			cue.words.push(word);
		} else {
			cue = { start: word.start, end: word.end, text: word.word, words: [word] };
			cues.push(cue);
		}
	}
	return cues;
}

/** Adds each word to the last cue that starts before the word's middle. */
function assignWords(words: Word[], cues: Cue[]): Cue[] {
	let index = 0;
	for (const word of words) {
		const middle = (word.start + word.end) / 2;
		while ((cues[index + 1]?.start ?? Number.POSITIVE_INFINITY) <= middle) index++;
		cues[index]?.words.push(word);
	}
	return cues;
}

export function webVtt(cues: readonly Cue[]): string {
	const blocks = cues.map(
		({ start, end, text }) => `${timestamp(start, ".")} --> ${timestamp(end, ".")}\n${escapeCue(text)}\n`,
	);
	return ["WEBVTT\n", ...blocks].join("\n");
}

export function subRip(cues: readonly Cue[]): string {
	return cues
		.map(
			({ start, end, text }, index) =>
				`${index + 1}\n${timestamp(start, ",")} --> ${timestamp(end, ",")}\n${text}\n`,
		)
		.join("\n");
}

/** `hh:mm:ss.mmm` */
function timestamp(seconds: number, point: string): string {
	const ms = Math.round(seconds * MS_PER_SECOND);
	const pad = (value: number, digits: number): string => String(Math.floor(value)).padStart(digits, "0");
	return `${pad(ms / 3_600_000, 2)}:${pad((ms / 60_000) % 60, 2)}:${pad((ms / 1000) % 60, 2)}${point}${pad(ms % 1000, 3)}`;
}

/** Cue text is markup. An unescaped arrow in it would start another cue. */
const escapeCue = (text: string): string =>
	text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
