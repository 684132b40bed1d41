/** `POST /audio/transcriptions` and `/audio/translations` (into English): a form in; JSON, text or subtitles out. */

import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { inputFamily } from "../../models/family.ts";
import type { Transcript, TranscriptionInput } from "../../tasks/speech-recognition/types.ts";
import type { Dialect, Reader, Rendered, WriteContext, Writer } from "../dialect.ts";
import { present } from "../fields.ts";
import { outputValue } from "../output-value.ts";
import { validate } from "../validation/validation.ts";
import { languageCode, languageName } from "./languages.ts";
import { soundFileOf } from "./media.ts";
import { FormBody, type MultipartForm, type WrappedForm } from "./multipart.ts";
import { timedWord } from "./speech.ts";
import { cuesOf, subRip, webVtt } from "./subtitles.ts";

const Form = z.object({ multipart: FormBody });

const FormFields = z.object({
	model: z.string(),
	language: z.string().optional(),
	prompt: z.string().optional(),
	response_format: z.enum(["json", "text", "verbose_json", "vtt", "srt"]).default("json"),
	temperature: z.number().min(0).max(1).optional(),
	"timestamp_granularities[]": z.array(z.enum(["word", "segment"])).default(["segment"]),
	stream: z.enum(["true", "false"]).optional(),
});

/** How OpenAI's SDKs write it in a form, which has no other word for it. */
const NULL = "null";

/** Numbers as numbers, repeated fields as lists, without what is empty. */
function fieldsOf(form: MultipartForm): z.output<typeof FormFields> {
	const fields = Object.fromEntries(
		Object.keys(FormFields.shape).flatMap((name): [string, unknown][] => {
			const [text] = form.texts(name);
			if (text === undefined || text === "" || text === NULL) return [];
			if (name.endsWith("[]")) return [[name, form.texts(name)]];
			return [[name, name === "temperature" && !Number.isNaN(Number(text)) ? Number(text) : text]];
		}),
	);
	return validate(FormFields, fields);
}

const readerOf = (task: TranscriptionInput["task"]): Reader => ({
	schema: () => Form,
	body: { field: "multipart", as: "wrapped" },
	read({ multipart: { body: form } }: { multipart: WrappedForm }, model) {
		if (task === "translate" && inputFamily(model).transcription?.translates === false)
			throw new AiError("invalidInput", `Invalid input: model: ${model.id} does not translate`);
		const { language, prompt, temperature, stream } = fieldsOf(form);
		if (stream === "true")
			throw new AiError("badInput", "Error: '/stream' must be false: transcripts come whole");
		const file = form.file("file");
		if (!file) throw new AiError("badInput", "Error: required properties at '/' are 'file'");
		return {
			task: "speech-recognition",
			input: {
				audio: soundFileOf({ body: file.bytes, contentType: file.contentType }),
				task,
				...present({ language: languageCode(language), prompt, temperature }),
			},
		};
	},
});

const writerOf = (task: TranscriptionInput["task"]): Writer => ({
	schema: z.object({
		text: z.string(),
		usage: z.object({ type: z.literal("duration"), seconds: z.number() }).optional(),
	}),
	write(answer, { inputs }: WriteContext): Rendered {
		const transcript = outputValue("speech-recognition", answer);
		const fields = fieldsOf((inputs as { multipart: WrappedForm }).multipart.body);
		switch (fields.response_format) {
			case "json":
				return { kind: "json", value: { text: transcript.text, ...usageOf(transcript) } };
			case "verbose_json":
				return { kind: "json", value: { task, ...verbose(transcript, fields) } };
			case "text":
				return text(`${transcript.text}\n`);
			case "vtt":
				return text(webVtt(cuesOf(transcript)));
			case "srt":
				return text(subRip(cuesOf(transcript)));
			default:
				return fields.response_format satisfies never;
		}
	},
});

/** OpenAI bills started seconds. */
const usageOf = ({ duration }: Transcript): object =>
	duration === undefined ? {} : { usage: { type: "duration", seconds: Math.ceil(duration) } };

function verbose(transcript: Transcript, fields: z.output<typeof FormFields>): object {
	const { text, words = [] } = transcript;
	const granularities = fields["timestamp_granularities[]"];
	const cues = cuesOf(transcript);
	const language = transcript.language ?? fields.language;
	return {
		...(language && { language: languageName(language) }),
		duration: transcript.duration ?? cues.at(-1)?.end ?? 0,
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
