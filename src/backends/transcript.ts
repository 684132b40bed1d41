/** Transcripts in the format of Whisper's servers. */
import * as z from "zod";
import { lazy } from "../core/lazy.ts";
import { present } from "../core/present.ts";
import type { Transcript, TranscriptSegment } from "../tasks/speech-recognition/types.ts";

export const count = lazy(() => z.number().nullish());

/** Seconds. vLLM sends text. What is no duration is dropped: the gateway counts itself. */
export const SentDuration = lazy(() => z.coerce.number().nonnegative().nullish().catch(undefined));

export const SentWord = lazy(() => z.object({ word: z.string(), start: z.number(), end: z.number() }));

export const SentSegment = lazy(() =>
	z.looseObject({
		start: z.number(),
		end: z.number(),
		text: z.string(),
		temperature: count(),
		avg_logprob: count(),
		compression_ratio: count(),
		no_speech_prob: count(),
		words: z.array(SentWord()).nullish(),
	}),
);

interface SentTranscript {
	text: string;
	language?: string | null | undefined;
	duration?: number | null | undefined;
	duration_after_vad?: number | null | undefined;
	segments?:
		| (Omit<z.output<ReturnType<typeof SentSegment>>, "words"> | TranscriptSegment)[]
		| null
		| undefined;
	words?:
		| (z.output<ReturnType<typeof SentWord>> & {
				confidence?: number | null | undefined;
				speaker?: number | null | undefined;
		  })[]
		| null
		| undefined;
}

/** Omits what the engine omitted, or sent as `null`. */
export const transcriptOf = ({
	text,
	language,
	duration,
	duration_after_vad,
	segments,
	words,
}: SentTranscript): Transcript => ({
	text,
	...(language && { language }),
	...present({ duration, duration_after_vad }),
	...(segments && { segments: segments.map(segmentOf) }),
	...(words && {
		words: words.map(({ word, start, end, confidence, speaker }) => ({
			word,
			start,
			end,
			...present({ confidence, speaker }),
		})),
	}),
});

const MEASURES = ["temperature", "avg_logprob", "compression_ratio", "no_speech_prob"] as const;

function segmentOf(sent: NonNullable<SentTranscript["segments"]>[number]): TranscriptSegment {
	const { start, end, text } = sent;
	const measures = MEASURES.flatMap((name) => (sent[name] == null ? [] : [[name, sent[name]]]));
	return { start, end, text, ...Object.fromEntries(measures) };
}
