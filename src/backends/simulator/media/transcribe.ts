/**
 * Speech recognition. A sound file of the simulator is transcribed exactly, from the text in its tags. The transcript of
 * any other sound states format and duration, in brackets, with the confidence of a coin.
 */
import type {
	Transcript,
	TranscriptionInput,
	TranscriptSegment,
	Word,
} from "../../../tasks/speech-recognition/types.ts";
import { readSoundFacts, type SoundFacts } from "./sound-facts.ts";
import { placeWords, spokenWords } from "./timing.ts";

const DEFAULT_LANGUAGE = "en";

/** What a decoder says of a stretch of sound. Whisper gives all segments of it the same. */
type Decoding = Required<
	Pick<TranscriptSegment, "temperature" | "avg_logprob" | "compression_ratio" | "no_speech_prob">
>;
const HEARD = { avg_logprob: 0, no_speech_prob: 0 };
const UNHEARD = { avg_logprob: round(Math.log(0.5)), no_speech_prob: 0.5 };

/** Bytes of the text to bytes of it compressed by zlib, as Whisper finds out that it repeats itself. */
async function compressionRatio(text: string): Promise<number> {
	const bytes = new TextEncoder().encode(text);
	const compressed = new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate")));
	return round(bytes.length / (await compressed.arrayBuffer()).byteLength);
}

export async function transcribe(input: TranscriptionInput): Promise<Transcript> {
	const facts = await readSoundFacts(input.audio);
	const text = facts.text ?? measured(facts);
	return {
		text,
		language: input.task === "translate" ? "en" : (input.language ?? DEFAULT_LANGUAGE),
		...(facts.duration !== undefined && {
			duration: facts.duration,
			...timed(text, {
				duration: facts.duration,
				decoding: {
					temperature: input.temperature ?? 0,
					...(facts.text === undefined ? UNHEARD : HEARD),
					compression_ratio: await compressionRatio(text),
				},
				heard: facts.text !== undefined,
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
	decoding: Decoding;
	/** Whether these are words that were said. */
	heard: boolean;
}

/** Words over the whole duration by their length, and a segment for each sentence. */
function timed(
	text: string,
	{ duration, decoding, heard }: Timing,
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
			...decoding,
		});
		open = undefined;
	}
	return { words, segments };
}

/** To the millisecond, and other numbers as far. */
function round(value: number): number {
	return Math.round(value * 1000) / 1000;
}
