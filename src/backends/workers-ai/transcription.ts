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
import type { Handler } from "../handler.ts";
import { count, SentDuration, SentSegment, SentWord, transcriptOf } from "../transcript.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { byteList, runJson, upstreamModel, type WorkersAiInputs } from "./run.ts";

/** `@cf/openai/whisper`: only the subtitles (`vtt`) have the times of segments. */
const TranscriptionReply = z.looseObject({
	text: z.string(),
	words: z.array(SentWord()).nullish(),
	vtt: z.string().nullish(),
});

const TranscriptionV3Reply = z.looseObject({
	text: z.string(),
	transcription_info: z
		.looseObject({
			language: z.string().nullish(),
			duration: SentDuration(),
			duration_after_vad: SentDuration(),
		})
		.nullish(),
	segments: z.array(SentSegment()).nullish(),
});

const Alternative = z.looseObject({
	transcript: z.string(),
	words: z.array(SentWord().extend({ confidence: count(), speaker: count() })).nullish(),
});
const DeepgramReply = z.looseObject({
	results: z.looseObject({
		channels: z.array(z.looseObject({ alternatives: z.array(Alternative).min(1) })).min(1),
	}),
});

export const transcribe: Handler<"speech-recognition"> = async (input, call) => {
	switch (inputFamily(upstreamModel(call)).transcription?.audio) {
		case "bytes":
			return readWhisper(await runJson(call, whisperInputs(input, call), TranscriptionReply));
		case "file":
			return readDeepgram(await runJson(call, novaInputs(input), DeepgramReply));
		default:
			return readWhisperV3(await runJson(call, whisperV3Inputs(input), TranscriptionV3Reply));
	}
};

/** The body is the audio file. With languages, or by a binding, the audio is a list of bytes in JSON. */
function whisperInputs({ audio, task, language }: TranscriptionInput, { target }: Call): WorkersAiInputs {
	if (task === "transcribe" && language === undefined && !target.binding)
		return { file: fileOf(audio), fields: {} };
	return {
		audio: byteList(audio),
		source_lang: language,
		target_lang: task === "translate" ? "en" : undefined,
	};
}

const whisperV3Inputs = ({
	audio,
	task,
	language,
	prompt,
	extensions,
}: TranscriptionInput): WorkersAiInputs => ({
	...extensions,
	audio: encodeBase64(audio.bytes),
	task,
	language,
	initial_prompt: prompt,
});

/** Without a language, the model detects it. */
const novaInputs = ({ audio, language, prompt, extensions = {} }: TranscriptionInput): WorkersAiInputs => ({
	file: fileOf(audio),
	fields: {
		...Object.fromEntries(Object.entries(extensions).map(([name, value]) => [name, String(value)])),
		language,
		...(language === undefined && { detect_language: "true" }),
		keyterm: prompt,
	},
});

const fileOf = (audio: Media): Blob =>
	new Blob([audio.bytes], { type: soundTypeOf(audio) ?? audio.contentType ?? "application/octet-stream" });

function readWhisper({ text, words, vtt }: z.output<typeof TranscriptionReply>): Transcript {
	const segments = vtt ? segmentsOf(vtt) : [];
	return transcriptOf({ text, words, ...(segments.length > 0 && { segments }) });
}

function readWhisperV3(reply: z.output<typeof TranscriptionV3Reply>): Transcript {
	const { text, transcription_info, segments } = reply;
	const words = segments?.flatMap((segment) => segment.words ?? []) ?? [];
	return transcriptOf({ ...transcription_info, text, segments, ...(words.length > 0 && { words }) });
}

/** The best alternative of the first channel. Further results are those of options of the caller. */
function readDeepgram({ results: { channels, ...analysis } }: z.output<typeof DeepgramReply>): Transcript {
	const { transcript: text = "", words } = channels[0]?.alternatives[0] ?? {};
	return { ...transcriptOf({ text, words }), ...(Object.keys(analysis).length > 0 && { analysis }) };
}

const TIMES = /^(?:(\d+):)?(\d{2}):(\d{2}\.\d{3}) --> (?:(\d+):)?(\d{2}):(\d{2}\.\d{3})/;

/** Cues of WebVTT, in order. */
function segmentsOf(vtt: string): TranscriptSegment[] {
	return vtt.split(/\r?\n\r?\n/).flatMap((block) => {
		const lines = block.split(/\r?\n/);
		const times = lines.map((line) => TIMES.exec(line));
		const at = times.findIndex((match) => match !== null);
		const [, ...parts] = times[at] ?? [];
		if (parts.length === 0) return [];
		const text = unescapeCue(lines.slice(at + 1).join("\n")).trim();
		const [h1, m1, s1, h2, m2, s2] = parts.map((part) => Number(part ?? 0));
		return [{ start: seconds(h1, m1, s1), end: seconds(h2, m2, s2), text }];
	});
}

const seconds = (hours = 0, minutes = 0, rest = 0): number => hours * 3600 + minutes * 60 + rest;

const unescapeCue = (text: string): string =>
	text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
