/** `POST /audio/transcriptions` and `/audio/translations` (into English): a form in; JSON, text or subtitles out. */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { present } from "../../core/present.ts";
import { secondsOf } from "../../counting/audio-duration.ts";
import { inputFamily } from "../../models/family.ts";
import type { Transcript, TranscriptionInput } from "../../tasks/speech-recognition/types.ts";
import type { TaskCall } from "../../tasks/task.ts";
import type { Dialect, Reader, Rendered, WriteContext, Writer } from "../dialect.ts";
import { badInput, invalidInput } from "../invalid-input.ts";
import { outputValue } from "../output-value.ts";
import { extendedByForm } from "./extensions.ts";
import { FormInput, readFormFields } from "./form-fields.ts";
import { languageCode, languageName } from "./languages.ts";
import { audioFileOf } from "./media.ts";
import type { MultipartForm } from "./multipart.ts";
import { cuesOf, subRip, webVtt } from "./subtitles.ts";
import { timedWord } from "./transcription.ts";

const FormFields = z.object({
	/** The route has read it. Absent: the path names it. */
	model: z.string().optional(),
	language: z.string().optional(),
	prompt: z.string().optional(),
	response_format: z.enum(["json", "text", "verbose_json", "vtt", "srt"]).default("json"),
	temperature: z.number().min(0).max(1).optional(),
	"timestamp_granularities[]": z.array(z.enum(["word", "segment"])).default(["segment"]),
	stream: z.enum(["true", "false"]).optional(),
});

/** OpenAI's SDKs write `null` in a form as this text. */
const NULL_TEXT = "null";

const fieldsOf = (form: MultipartForm): z.output<typeof FormFields> =>
	readFormFields(form, FormFields, { numbers: ["temperature"], absentText: NULL_TEXT });

const readerOf = (task: TranscriptionInput["task"]): Reader => ({
	schema: () => FormInput,
	body: { field: "multipart", as: "wrapped" },
	read({ multipart: { body: form } }: FormInput, model) {
		if (task === "translate" && inputFamily(model).transcription?.translates === false)
			throw invalidInput(`model: ${model.id} does not translate`);
		const { language, prompt, response_format, temperature, stream } = fieldsOf(form);
		if (stream === "true") throw badInput("'/stream' must be false: transcripts are not streamed");
		const file = form.file("file");
		if (!file) throw badInput("required properties at '/' are 'file'");
		return {
			task: "speech-recognition",
			input: {
				audio: audioFileOf({ body: file.bytes, contentType: file.contentType }),
				task,
				...((response_format === "srt" || response_format === "vtt") && { needsTimes: true }),
				...present({ language: languageCode(language), prompt, temperature }),
				...extendedByForm(form, { ...FormFields.shape, file: true }),
			},
		};
	},
});

const writerOf = (task: TranscriptionInput["task"]): Writer => ({
	write(answer, { inputs, call }: WriteContext): Rendered {
		const transcript = outputValue("speech-recognition", answer);
		const fields = fieldsOf((inputs as FormInput).multipart.body); // the reader parsed it
		switch (fields.response_format) {
			case "json":
				return { kind: "json", value: { text: transcript.text, ...usageOf(transcript) } };
			case "verbose_json":
				return { kind: "json", value: { task, ...verbose(transcript, fields, call) } };
			case "text":
				return text(`${transcript.text}\n`);
			case "vtt":
				return text(webVtt(timedCues(transcript)));
			case "srt":
				return text(subRip(timedCues(transcript)));
			default:
				return fields.response_format satisfies never;
		}
	},
});

/** Subtitles without times would be empty. */
function timedCues(transcript: Transcript): ReturnType<typeof cuesOf> {
	const cues = cuesOf(transcript);
	if (cues.length > 0 || transcript.text.trim() === "") return cues;
	throw new AiError(
		"engineRefused",
		"The engine reports no times, which subtitles need: request json or text",
	);
}

/** OpenAI bills started seconds. */
const usageOf = ({ duration }: Transcript): object =>
	duration === undefined ? {} : { usage: { type: "duration", seconds: Math.ceil(duration) } };

/** The duration is that of the audio. It is absent if neither the engine nor the file has it. */
function verbose(transcript: Transcript, fields: z.output<typeof FormFields>, { input }: TaskCall): object {
	const { text, words = [] } = transcript;
	const granularities = fields["timestamp_granularities[]"];
	const cues = cuesOf(transcript);
	const language = transcript.language ?? fields.language;
	const { audio } = input as TranscriptionInput; // the reader made it
	const duration = transcript.duration ?? secondsOf(audio) ?? cues.at(-1)?.end;
	return {
		...(language && { language: languageName(language) }),
		...present({ duration }),
		text,
		...(granularities.includes("word") && { words: words.map(timedWord) }),
		...(granularities.includes("segment") && {
			segments: cues.map(({ start, end, text, segment }, id) => ({
				id,
				seek: 0,
				start,
				end,
				text,
				tokens: [],
				temperature: 0,
				avg_logprob: 0,
				compression_ratio: 0,
				no_speech_prob: 0,
				...(segment && present(segment)),
			})),
		}),
		...usageOf(transcript),
	};
}

const text = (value: string): Rendered => ({
	kind: "bytes",
	media: {
		bytes: new Uint8Array(new TextEncoder().encode(value)),
		contentType: "text/plain; charset=utf-8",
	},
});

const dialectOf = (task: TranscriptionInput["task"]): Dialect => ({
	reader: readerOf(task),
	writer: writerOf(task),
});
export const openaiTranscription = dialectOf("transcribe");
export const openaiTranslation = dialectOf("translate");
