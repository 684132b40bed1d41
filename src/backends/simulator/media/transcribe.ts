/**
 * Speech recognition. An audio file of the simulator is transcribed exactly, from the text in its tags. The transcript of
 * any other file is its format and duration in brackets, with confidence 0.5.
 */
import { present } from "../../../core/present.ts";
import type {
	Transcript,
	TranscriptionInput,
	TranscriptSegment,
	Word,
} from "../../../tasks/speech-recognition/types.ts";
import type { CallContext } from "../../backend.ts";
import { chooseExtensions } from "../../media-extensions.ts";
import { type AudioMetadata, readAudioMetadata } from "./audio-metadata.ts";
import { placeWords, spokenWords } from "./timing.ts";

const DEFAULT_LANGUAGE = "en";

/** Measures of a decoder for a part of the audio. Whisper gives all segments of a part the same values. */
type Decoding = Required<
	Pick<TranscriptSegment, "temperature" | "avg_logprob" | "compression_ratio" | "no_speech_prob">
>;
const HEARD = { avg_logprob: 0, no_speech_prob: 0 };
const UNHEARD_CONFIDENCE = 0.5;
const UNHEARD = { avg_logprob: round(Math.log(UNHEARD_CONFIDENCE)), no_speech_prob: 0.5 };

/** The ratio of the text to its zlib-compressed form: Whisper's measure of repetition. */
async function compressionRatio(text: string): Promise<number> {
	const bytes = new TextEncoder().encode(text);
	const compressed = new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate")));
	return round(bytes.length / (await compressed.arrayBuffer()).byteLength);
}

/** Deepgram's options that need nothing here: the text has punctuation, there is one voice, and the rest describe the request. */
const FULFILLED: ReadonlySet<string> = new Set([
	"punctuate",
	"smart_format",
	"diarize",
	"encoding",
	"channels",
	"mip_opt_out",
	// Whisper's.
	"prefix",
]);

export async function transcribe(
	input: TranscriptionInput,
	context: Pick<CallContext, "report"> = {},
): Promise<Transcript> {
	const metadata = await readAudioMetadata(input.audio);
	const options = chooseExtensions(context, input.extensions, (name) => FULFILLED.has(name));
	const prefix = typeof options.prefix === "string" && options.prefix !== "" ? `${options.prefix} ` : "";
	const text = prefix + (metadata.text ?? measured(metadata));
	return {
		text,
		language: input.task === "translate" ? "en" : (input.language ?? DEFAULT_LANGUAGE),
		...(metadata.duration !== undefined && {
			duration: metadata.duration,
			...timed(text, {
				duration: metadata.duration,
				decoding: {
					temperature: input.temperature ?? 0,
					...(metadata.text === undefined ? UNHEARD : HEARD),
					compression_ratio: await compressionRatio(text),
				},
				isRecognised: metadata.text !== undefined,
				...(isSet(options.diarize) && { speaker: ONLY_SPEAKER }),
			}),
		}),
	};
}

function measured({ format, duration, rate, channels }: AudioMetadata): string {
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
	/** Whether the text is speech, not a description of the file. */
	isRecognised: boolean;
	speaker?: number;
}

const ONLY_SPEAKER = 0;

/** Queries have flags as text. */
const isSet = (flag: unknown): boolean => flag === true || flag === "true";

/** Distributes the words over the duration by their length, and makes a segment of each sentence. */
function timed(
	text: string,
	{ duration, decoding, isRecognised, speaker }: Timing,
): Required<Pick<Transcript, "words" | "segments">> {
	const words: Word[] = [];
	const segments: TranscriptSegment[] = [];
	let open: { from: number; start: number } | undefined;
	const placed = placeWords(spokenWords(text), duration);
	for (const [index, { text: word, from, to, start, end, endsSentence }] of placed.entries()) {
		words.push({
			word,
			start: round(start),
			end: round(end),
			confidence: isRecognised ? 1 : UNHEARD_CONFIDENCE,
			...present({ speaker }),
		});
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
