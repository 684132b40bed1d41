/**
 * Whisper: two input shapes and two output shapes.
 *
 * Options of the decoder (`vad_filter`, `beam_size`, `prefix`, the thresholds) reach engines that know them.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { present } from "../../core/present.ts";
import type { InputShape, OutputShape } from "../../models/family.ts";
import type { Transcript, TranscriptionInput } from "../../tasks/speech-recognition/types.ts";
import type { NativeWriter, Reader } from "../dialect.ts";
import { fieldsReader } from "../fields.ts";
import { invalidInput } from "../invalid-input.ts";
import { jsonWriter } from "../output-value.ts";
import { extended } from "./extensions.ts";
import { languageCode } from "./languages.ts";
import { audioFileOf, ByteArray, type Bytes, decodeBase64, Wrapped } from "./media.ts";
import { cuesOf, webVtt } from "./subtitles.ts";
import { TimedWord, timedWord, transcriptionCall } from "./transcription.ts";

const whisperBinary = fieldsReader(
	{ audio: ByteArray, source_lang: z.string().optional(), target_lang: z.string().optional() },
	({ audio, source_lang, target_lang }) => {
		const language = languageCode(source_lang);
		const target = languageCode(target_lang);
		const translate = target !== undefined && target !== language;
		// Whisper was trained to translate only into English.
		if (translate && target !== "en") throw invalidInput("'target_lang' must be 'en'");
		return transcriptionCall({
			audio: audioFileOf(audio),
			task: translate ? "translate" : "transcribe",
			...(language && { language }),
		});
	},
	{ field: "audio", as: "raw" },
);

const WHISPER_BASE64 = {
	audio: z.union([z.string(), Wrapped]),
	task: z.enum(["transcribe", "translate"]).optional(),
	language: z.string().optional(),
	vad_filter: z.boolean().optional(),
	initial_prompt: z.string().optional(),
	prefix: z.string().optional(),
	beam_size: z.int().optional(),
	condition_on_previous_text: z.boolean().optional(),
	no_speech_threshold: z.number().optional(),
	compression_ratio_threshold: z.number().optional(),
	log_prob_threshold: z.number().optional(),
	hallucination_silence_threshold: z.number().optional(),
};

const whisperBase64 = fieldsReader(
	WHISPER_BASE64,
	({ audio, task, language, initial_prompt, ...decoder }, { defaults }) =>
		transcriptionCall({
			audio: audioFileOf(typeof audio === "string" ? audioOfText(audio) : audio),
			task: task ?? "transcribe",
			...(language && { language }),
			...(initial_prompt && { prompt: initial_prompt }),
			...extended(decoder, defaults),
		}),
	{ field: "audio", as: "wrapped" },
);

/** Observed: the product refuses text that is not base64, also a data URL, with the same error as invalid audio. */
function audioOfText(base64: string): Bytes {
	try {
		return decodeBase64(base64);
	} catch (cause) {
		throw new AiError("invalidInput", undefined, { cause });
	}
}

export const whisperReaders = {
	"whisper-binary": whisperBinary,
	"whisper-b64": whisperBase64,
} satisfies Partial<Record<InputShape, Reader>>;

const Transcription = z.object({
	text: z.string(),
	word_count: z.number().optional(),
	words: z.array(TimedWord).optional(),
	vtt: z.string().optional(),
});

const transcription = jsonWriter("speech-recognition", Transcription, (transcript) => {
	const cues = cuesOf(transcript);
	return {
		text: transcript.text,
		word_count: countWords(transcript),
		...(transcript.words && { words: transcript.words.map(timedWord) }),
		...(cues.length > 0 && { vtt: webVtt(cues) }),
	};
});

const TranscriptionV3 = z.object({
	transcription_info: z.object({
		language: z.string().optional(),
		language_probability: z.number().optional(),
		duration: z.number().optional(),
		duration_after_vad: z.number().optional(),
	}),
	text: z.string(),
	word_count: z.number().optional(),
	segments: z
		.array(
			z.object({
				start: z.number(),
				end: z.number(),
				text: z.string(),
				temperature: z.number().optional(),
				avg_logprob: z.number().optional(),
				compression_ratio: z.number().optional(),
				no_speech_prob: z.number().optional(),
				words: z.array(TimedWord),
			}),
		)
		.optional(),
	vtt: z.string().optional(),
});

const transcriptionV3 = jsonWriter("speech-recognition", TranscriptionV3, (transcript, { call, inputs }) => {
	const { language: requested } = call.input as TranscriptionInput;
	const cues = cuesOf(transcript);
	const duration = transcript.duration ?? cues.at(-1)?.end;
	// Without the filter nothing is removed. With it, most engines do not report what is left.
	const isFiltered = isRecord(inputs) && inputs.vad_filter === true;
	const duration_after_vad = transcript.duration_after_vad ?? (isFiltered ? undefined : duration);
	const language = languageCode(transcript.language ?? requested);
	return {
		transcription_info: {
			...(language && { language }),
			// The probability of a requested language is 1. Engines do not report it for a detected one.
			...(requested && { language_probability: 1 }),
			...present({ duration, duration_after_vad }),
		},
		text: transcript.text,
		word_count: countWords(transcript),
		...(cues.length > 0 && {
			segments: cues.map(({ start, end, text, words, segment }) => ({
				...(segment ?? { start, end, text }),
				words: words.map(timedWord),
			})),
			vtt: webVtt(cues),
		}),
	};
});

export const whisperWriters = {
	transcription,
	"transcription-v3": transcriptionV3,
} satisfies Partial<Record<OutputShape, NativeWriter>>;

const countWords = ({ text, words }: Transcript): number =>
	words?.length ?? text.split(/\s+/).filter(Boolean).length;
