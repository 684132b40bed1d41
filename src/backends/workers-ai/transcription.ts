/** Speech recognition: two Whisper models and Nova, each with its own input and output format. */

import * as z from "zod";
import { encodeBase64 } from "../../media/base64.ts";
import type { Media } from "../../media/media.ts";
import { soundTypeOf } from "../../media/types.ts";
import { inputFamily } from "../../models/family.ts";
import type {
	Transcript,
	TranscriptionInput,
	TranscriptSegment,
} from "../../tasks/speech-recognition/types.ts";
import type { Answer } from "../../tasks/task.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { byteList, type Inputs, runJson, upstreamModel, value } from "./run.ts";

const TimedWord = z.looseObject({ word: z.string(), start: z.number(), end: z.number() });
const measure = z.number().nullish();

/** `@cf/openai/whisper`: only the subtitles (`vtt`) have the times of segments. */
const TranscriptionReply = z.looseObject({
	text: z.string(),
	words: z.array(TimedWord).nullish(),
	vtt: z.string().nullish(),
});

const TranscriptionV3Reply = z.looseObject({
	text: z.string(),
	transcription_info: z.looseObject({ language: z.string().nullish(), duration: measure }).nullish(),
	segments: z
		.array(
			z.looseObject({
				start: z.number(),
				end: z.number(),
				text: z.string(),
				temperature: measure,
				avg_logprob: measure,
				compression_ratio: measure,
				no_speech_prob: measure,
				words: z.array(TimedWord).nullish(),
			}),
		)
		.nullish(),
});

const DeepgramReply = z.looseObject({
	results: z.looseObject({
		channels: z
			.array(
				z.looseObject({
					alternatives: z
						.array(
							z.looseObject({
								transcript: z.string(),
								words: z.array(TimedWord.extend({ confidence: measure })).nullish(),
							}),
						)
						.min(1),
				}),
			)
			.min(1),
	}),
});

export async function transcribe(
	input: TranscriptionInput,
	call: Call,
): Promise<Answer<"speech-recognition">> {
	switch (inputFamily(upstreamModel(call)).transcription?.audio) {
		case "bytes":
			return value(readWhisper(await runJson(call, whisperInputs(input, call), TranscriptionReply)));
		case "file":
			return value(readDeepgram(await runJson(call, novaInputs(input), DeepgramReply)));
		default:
			return value(readWhisperV3(await runJson(call, whisperV3Inputs(input), TranscriptionV3Reply)));
	}
}

/** The body is the audio file. With languages, or by a binding, the audio is a list of bytes in JSON. */
function whisperInputs({ audio, task, language }: TranscriptionInput, { target }: Call): Inputs {
	if (task === "transcribe" && language === undefined && !target.binding)
		return { file: fileOf(audio), fields: {} };
	return {
		audio: byteList(audio),
		source_lang: language,
		target_lang: task === "translate" ? "en" : undefined,
	};
}

const whisperV3Inputs = ({ audio, task, language, prompt }: TranscriptionInput): Inputs => ({
	audio: encodeBase64(audio.bytes),
	task,
	language,
	initial_prompt: prompt,
});

/** Without a language, the model detects it. */
const novaInputs = ({ audio, language, prompt }: TranscriptionInput): Inputs => ({
	file: fileOf(audio),
	fields: { language, ...(language === undefined && { detect_language: "true" }), keyterm: prompt },
});

const fileOf = (audio: Media): Blob =>
	new Blob([audio.bytes], { type: soundTypeOf(audio) ?? audio.contentType ?? "application/octet-stream" });

function readWhisper({ text, words, vtt }: z.output<typeof TranscriptionReply>): Transcript {
	const segments = vtt ? segmentsOf(vtt) : [];
	return {
		text,
		...(segments.length > 0 && { segments }),
		...(words && { words: words.map(({ word, start, end }) => ({ word, start, end })) }),
	};
}

function readWhisperV3({
	text,
	transcription_info,
	segments,
}: z.output<typeof TranscriptionV3Reply>): Transcript {
	const { language, duration } = transcription_info ?? {};
	const words = segments?.flatMap((segment) => segment.words ?? []) ?? [];
	return {
		text,
		...(language && { language }),
		...(duration != null && { duration }),
		...(segments && {
			segments: segments.map(({ start, end, text, ...segment }) => ({
				start,
				end,
				text,
				...measured(segment),
			})),
		}),
		...(words.length > 0 && { words: words.map(({ word, start, end }) => ({ word, start, end })) }),
	};
}

const MEASURES = ["temperature", "avg_logprob", "compression_ratio", "no_speech_prob"] as const;

const measured = (segment: Record<string, unknown>): Partial<TranscriptSegment> =>
	Object.fromEntries(
		MEASURES.flatMap((name) => (typeof segment[name] === "number" ? [[name, segment[name]]] : [])),
	);

/** The best alternative of the first channel. */
function readDeepgram({ results }: z.output<typeof DeepgramReply>): Transcript {
	const { transcript: text = "", words } = results.channels[0]?.alternatives[0] ?? {};
	return {
		text,
		...(words && {
			words: words.map(({ word, start, end, confidence }) => ({
				word,
				start,
				end,
				...(confidence != null && { confidence }),
			})),
		}),
	};
}

const TIMES = /^(?:(\d+):)?(\d{2}):(\d{2}\.\d{3}) --> (?:(\d+):)?(\d{2}):(\d{2}\.\d{3})/;

/** Cues of WebVTT, in order. */
function segmentsOf(vtt: string): TranscriptSegment[] {
	return vtt.split(/\r?\n\r?\n/).flatMap((block) => {
		const lines = block.split(/\r?\n/);
		const at = lines.findIndex((line) => TIMES.test(line));
		const [, ...parts] = TIMES.exec(lines[at] ?? "") ?? [];
		if (at < 0 || parts.length === 0) return [];
		const text = unescapeCue(lines.slice(at + 1).join("\n")).trim();
		const [h1, m1, s1, h2, m2, s2] = parts.map((part) => Number(part ?? 0));
		return [{ start: seconds(h1, m1, s1), end: seconds(h2, m2, s2), text }];
	});
}

const seconds = (hours = 0, minutes = 0, rest = 0): number => hours * 3600 + minutes * 60 + rest;

const unescapeCue = (text: string): string =>
	text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
