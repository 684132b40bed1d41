/** Transcripts as subtitles: WebVTT (w3.org/TR/webvtt1) and SubRip. */
import type { Transcript, TranscriptSegment, Word } from "../../tasks/speech-recognition/types.ts";

interface Cue {
	/** Seconds; cues are in order of their starts, and end after they start. */
	start: number;
	end: number;
	/** One line. */
	text: string;
	words: Word[];
	/** What the engine had said of this cue, where the cue is one of its segments. */
	segment?: TranscriptSegment;
}

/** Where words come without segments, a cue ends at a pause, at the end of a sentence, or when it is full. */
const PAUSE_SECONDS = 1;
const CUE_SECONDS = 6;
const CUE_CHARACTERS = 80;
const SENTENCE_END = /[.?!…。？！]["'”’)]*$/;

/** Both formats count in these, and neither has a cue that takes no time. */
const MS_PER_SECOND = 1000;

/** Empty when nothing in the transcript says when it was said. */
export function cuesOf({ text, duration, segments, words = [] }: Transcript): Cue[] {
	if (segments?.length) {
		const cues = segments.map((segment) => {
			const { start, end, text } = segment;
			return { start, end, text, words: [], segment };
		});
		return shareOut(words, inOrder(cues));
	}
	if (words.length > 0) return inOrder(groupWords(words));
	return duration ? inOrder([{ start: 0, end: duration, text, words: [] }]) : [];
}

/** An empty text is not shown. */
function inOrder(cues: Cue[]): Cue[] {
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
	// Whisper's words carry their own leading spaces, so that Chinese has none; Deepgram's never do.
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

/** Gives each word to the last cue that has begun by the word's middle. */
function shareOut(words: Word[], cues: Cue[]): Cue[] {
	let at = 0;
	for (const word of words) {
		const middle = (word.start + word.end) / 2;
		while ((cues[at + 1]?.start ?? Number.POSITIVE_INFINITY) <= middle) at++;
		cues[at]?.words.push(word);
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

/** Cue text is markup: an arrow in it would begin another cue. */
const escapeCue = (text: string): string =>
	text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
