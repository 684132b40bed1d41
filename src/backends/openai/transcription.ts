/**
 * https://platform.openai.com/docs/api-reference/audio: `/audio/transcriptions`, and `/audio/translations` into English.
 *
 * whisper.cpp has one route for both, with a field of its own; its answer is accepted only if it states that it is a
 * translation.
 *
 * The most detailed format is requested first. If the refusal names the format, the next simpler one is requested: some
 * models have no word timestamps (Groq, vLLM), some no `verbose_json` (gpt-4o-transcribe, older vLLM). The refusal is remembered for
 * the target.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { extensionOf, soundTypeOf } from "../../media/types.ts";
import type { Extensions } from "../../tasks/extensions.ts";
import type { Transcript, TranscriptionInput } from "../../tasks/speech-recognition/types.ts";
import type { Handler } from "../handler.ts";
import { count, SentDuration, SentSegment, SentWord, transcriptOf } from "../transcript.ts";
import { postJson } from "../transport/http.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { appendFields } from "./form-fields.ts";
import { mediaExtensions, serviceAt } from "./hosts.ts";

/** whisper.cpp has the words in the segments, with a probability. */
const Words = lazy(() => z.array(SentWord().extend({ probability: count() })).nullish());

const TranscriptReply = lazy(() =>
	z.looseObject({
		text: z.string(),
		language: z.string().nullish(),
		duration: SentDuration(),
		segments: z.array(SentSegment().extend({ words: Words() })).nullish(),
		words: Words(),
		task: z.string().nullish(),
	}),
);
type TranscriptReply = z.output<ReturnType<typeof TranscriptReply>>;

interface Format {
	response_format: "verbose_json" | "json";
	timestamps: string[];
}
const LEAST_DETAILED: Format = { response_format: "json", timestamps: [] };
/** The most detailed first. */
const FORMATS: readonly Format[] = [
	{ response_format: "verbose_json", timestamps: ["word", "segment"] },
	{ response_format: "verbose_json", timestamps: [] },
	LEAST_DETAILED,
];
const NAMES_TIMESTAMPS = /timestamp/;
const NAMES_FORMAT = /response_format|verbose_json|timestamp/;

const TRANSCRIPTIONS = "/audio/transcriptions";
const TRANSLATIONS = "/audio/translations";
const NOT_FOUND = 404;

export const transcribe: Handler<"speech-recognition"> = async (input, call) => {
	if (input.task === "transcribe") return transcript(await requestTranscript(input, TRANSCRIPTIONS, call));
	try {
		return transcript(await requestTranscript(input, TRANSLATIONS, call));
	} catch (error) {
		if (!hasNoRoute(error) || serviceAt(call.target).isOpenAi) throw error;
		const reply = await requestTranscript(input, TRANSCRIPTIONS, call);
		if (reply.task !== "translate") throw error;
		return transcript(reply);
	}
};

const hasNoRoute = (error: unknown): boolean =>
	error instanceof AiError && error.upstream?.status === NOT_FOUND;

async function requestTranscript(
	input: TranscriptionInput,
	path: string,
	call: Call,
): Promise<TranscriptReply> {
	const { model, observed } = call.target;
	const refused = observed?.refusedTranscriptFormats;
	const extensions = mediaExtensions(call, "transcription", input.extensions);
	// Translations have no word timestamps.
	const formats = input.task === "translate" ? FORMATS.slice(1) : FORMATS;
	// The engine has refused the first ones already. Each refusal costs an upload.
	let position = Math.min(refused?.model === model ? refused.count : 0, formats.length - 1);
	for (;;) {
		const format = formats[position] ?? LEAST_DETAILED;
		if (input.needsTimes && format === LEAST_DETAILED) throw withoutTimes(call);
		try {
			return await post(input, { ...format, path, extensions }, call);
		} catch (error) {
			if (!isAboutFormat(error) || position === formats.length - 1) throw error;
			// A refusal of `verbose_json` itself leaves one format.
			position = NAMES_TIMESTAMPS.test((error as AiError).description) ? position + 1 : formats.length - 1;
			if (observed && input.task === "transcribe")
				observed.refusedTranscriptFormats = { model, count: position };
		}
	}
}

/** Another engine may report times. */
const withoutTimes = ({ target }: Call): AiError =>
	new AiError(
		"engineRefused",
		`The backend '${target.backend}' reports no times, which subtitles need: request json or text`,
		{ retryable: true },
	);

const isAboutFormat = (error: unknown): boolean =>
	error instanceof AiError && error.key === "engineRefused" && NAMES_FORMAT.test(error.description);

function post(
	input: TranscriptionInput,
	{ path, extensions, ...format }: Format & { path: string; extensions: Extensions },
	call: Call,
): Promise<TranscriptReply> {
	const { audio, task, language, prompt, temperature } = input;
	const form = new FormData();
	const type = soundTypeOf(audio) ?? audio.contentType ?? "application/octet-stream";
	form.append("file", new File([audio.bytes], `audio.${extensionOf(type) ?? "wav"}`, { type }));
	appendFields(form, extensions);
	form.append("model", call.target.model);
	form.append("response_format", format.response_format);
	if (prompt !== undefined) form.append("prompt", prompt);
	if (temperature !== undefined) form.append("temperature", String(temperature));
	// OpenAI's translations detect the language; vLLM's assume English.
	const takesLanguage = task === "transcribe" || !serviceAt(call.target).isOpenAi;
	if (language !== undefined && takesLanguage) form.append("language", language);
	if (task === "transcribe")
		for (const granularity of format.timestamps) form.append("timestamp_granularities[]", granularity);
	else if (path === TRANSCRIPTIONS) form.append("translate", "true");
	return postJson(call, path, form, TranscriptReply());
}

function transcript({ segments, words: sentWords, ...reply }: TranscriptReply): Transcript {
	const timed = sentWords ?? segments?.flatMap(({ words }) => words ?? []) ?? [];
	const words = timed.map(({ probability, ...word }) => ({ ...word, confidence: probability }));
	return transcriptOf({ ...reply, segments, ...(words.length > 0 && { words }) });
}
