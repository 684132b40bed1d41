/**
 * Deepgram's speech recognition over HTTP: Nova, and Flux, which the product serves only over websockets (`flux.ts`,
 * `nova-live.ts`).
 *
 * Differences from the product: options for additional analysis (`diarize`, `topics`, `sentiment`, …) are validated and
 * not forwarded; the engine's own settings apply.
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
import { TurnInfo } from "./flux.ts";
import { audioOf } from "./media.ts";
import { TimedWord, timedWord, transcriptionCall } from "./transcription.ts";

const nova = fieldsReader(
	NOVA,
	({ audio, language, detect_language, keyterm, keywords }) => {
		const detects = detect_language === true || detect_language === "true";
		const prompt = vocabularyOf({ keyterm, keywords });
		return transcriptionCall({
			audio: audioOf(audio),
			task: "transcribe",
			...(language && !detects && { language }),
			...(prompt && { prompt }),
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
	words: z.array(TimedWord.extend({ confidence: z.number().optional() })),
});

export function alternativeOf(transcript: string, words: readonly Word[]): z.output<typeof Alternative> {
	const confidences = words.flatMap(({ confidence }) => confidence ?? []);
	const mean = confidences.reduce((a, b) => a + b, 0) / confidences.length;
	return {
		// That of silence is 0, as Deepgram's.
		...present({ confidence: transcript === "" ? 0 : confidences.length > 0 ? mean : undefined }),
		transcript,
		words: words.map((word) => ({
			...timedWord(word),
			...present({ confidence: word.confidence }),
		})),
	};
}

const DeepgramResults = z.object({
	results: z.object({ channels: z.array(z.object({ alternatives: z.array(Alternative) })) }),
	usage: z.object({ neurons: z.number() }).optional(),
});

export const deepgramWriters = {
	"deepgram-results": jsonWriter(
		"speech-recognition",
		DeepgramResults,
		({ text, words = [] }, { neurons }) => ({
			results: { channels: [{ alternatives: [alternativeOf(text, words)] }] },
			...(neurons !== undefined && { usage: { neurons } }),
		}),
	),
	"flux-events": { schema: TurnInfo, write: websocketOnly },
} satisfies Partial<Record<OutputShape, NativeWriter>>;
