/**
 * Deepgram's speech recognition over HTTP: Nova, and Flux, which the product serves only over websockets (`flux.ts`,
 * `nova-live.ts`).
 *
 * Options that arrange or search the transcript are applied here (`deepgram-options.ts`). Options of the recognition and of additional
 * analysis (`diarize`, `topics`, `sentiment`, …) reach engines that know them.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { present } from "../../core/present.ts";
import type { InputShape, OutputShape } from "../../models/family.ts";
import type { Word } from "../../tasks/speech-recognition/types.ts";
import type { NativeWriter, Reader } from "../dialect.ts";
import { fieldsReader, modelFields, perModel } from "../fields.ts";
import { jsonWriter } from "../output-value.ts";
import { FLUX, NOVA, vocabularyOf } from "./deepgram-fields.ts";
import {
	type DeepgramOptions,
	isSet,
	meanConfidence,
	paragraphsOf,
	plainWord,
	replaceTerms,
	searchHits,
	utterancesOf,
} from "./deepgram-options.ts";
import { extended } from "./extensions.ts";
import { TurnInfo } from "./flux.ts";
import { languageCode } from "./languages.ts";
import { audioOf } from "./media.ts";
import { TimedWord, transcriptionCall } from "./transcription.ts";

const nova = fieldsReader(
	NOVA,
	({ audio, language, detect_language, keyterm, keywords, ...others }, { defaults }) => {
		const { paragraphs: _, utterances: _u, utt_split: _s, search: _t, replace: _r, ...options } = others;
		const detects = isSet(detect_language);
		const prompt = vocabularyOf({ keyterm, keywords });
		return transcriptionCall({
			audio: audioOf(audio),
			task: "transcribe",
			...(language && !detects && { language }),
			...(prompt && { prompt }),
			...extended(options, defaults),
		});
	},
	{ field: "audio", as: "wrapped", query: true },
);

const websocketOnly = (): never => {
	throw new AiError("incompleteRequest", "Request is missing headers or body: Upgrade: websocket");
};

const flux: Reader = {
	// No field is required, so that a request over HTTP gets the error about the websocket, not about a missing field.
	schema: perModel((model) =>
		modelFields(FLUX, model)
			.partial()
			.meta({ required: ["encoding", "sample_rate"] }),
	),
	body: { field: "audio", as: "wrapped" },
	read: websocketOnly,
};

export const deepgramReaders = {
	"asr-nova": nova,
	"asr-flux-ws": flux,
} satisfies Partial<Record<InputShape, Reader>>;

const Alternative = z.object({
	confidence: z.number().optional(),
	transcript: z.string(),
	words: z.array(TimedWord.extend({ confidence: z.number().optional(), speaker: z.int().optional() })),
	/** With the option. */
	paragraphs: z.looseObject({}).optional(),
});

export function alternativeOf(transcript: string, words: readonly Word[]): z.output<typeof Alternative> {
	return {
		// That of silence is 0, as Deepgram's.
		...present({ confidence: transcript === "" ? 0 : meanConfidence(words) }),
		transcript,
		words: words.map(plainWord),
	};
}

const DeepgramResults = z.object({
	// Further fields are results of options.
	results: z.looseObject({ channels: z.array(z.looseObject({ alternatives: z.array(Alternative) })) }),
	usage: z.object({ neurons: z.number() }).optional(),
});

export const deepgramWriters = {
	"deepgram-results": jsonWriter(
		"speech-recognition",
		DeepgramResults,
		(transcript, { inputs, neurons, uuid }) => {
			const options = inputs as DeepgramOptions; // the reader parsed them
			const { text, words = [], language, analysis } = replaceTerms(transcript, options);
			const alternative = {
				...alternativeOf(text, words),
				...(isSet(options.paragraphs) && { paragraphs: paragraphsOf(words, options) }),
			};
			const channel = {
				...(options.search !== undefined && { search: searchHits(words, options) }),
				alternatives: [alternative],
				...(isSet(options.detect_language) && language && { detected_language: languageCode(language) }),
			};
			return {
				results: {
					channels: [channel],
					...(isSet(options.utterances) && { utterances: utterancesOf(words, options, uuid) }),
					...analysis,
				},
				...(neurons !== undefined && { usage: { neurons } }),
			};
		},
	),
	"flux-events": { schema: TurnInfo, write: websocketOnly },
} satisfies Partial<Record<OutputShape, NativeWriter>>;
