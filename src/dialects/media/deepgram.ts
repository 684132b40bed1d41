/**
 * Deepgram's speech recognition: Nova over HTTP, and Flux, which the product serves over websockets alone.
 *
 * Differences from the product: options that ask for analysis beside the text (`diarize`, `topics`, `sentiment`, …)
 * are checked and then left to the engine's own settings; there is no websocket here.
 */
import * as z from "zod";
import { AiError } from "../../errors.ts";
import type { InputShape, OutputShape } from "../../models/model.ts";
import type { Reader, Writer } from "../dialect.ts";
import { perModel } from "../fields.ts";
import { modelFields } from "../model-fields.ts";
import { outcomeOf } from "../outcome.ts";
import { soundOf, Wrapped } from "./media.ts";
import { recognize, TimedWord, timedWord } from "./speech.ts";

/** Websocket callers write these as text. */
const flag = z
	.custom<boolean | "true" | "false">()
	.check((context) => {
		if (![true, false, "true", "false"].includes(context.value))
			context.issues.push({ code: "invalid_type", expected: "boolean", input: context.value });
	})
	.meta({ type: "boolean" });
const terms = z.union([z.string(), z.array(z.string())]);
const matching = z.enum(["extended", "strict"]);

const NOVA = {
	audio: Wrapped,
	custom_topic_mode: matching.optional(),
	custom_topic: terms.optional(),
	custom_intent_mode: matching.optional(),
	custom_intent: terms.optional(),
	encoding: z.enum(["linear16", "flac", "mulaw", "amr-nb", "amr-wb", "opus", "speex", "g729"]).optional(),
	mode: z.enum(["general", "medical", "finance"]).optional(),
	utt_split: z.number().optional(),
	channels: z.number().optional(),
	endpointing: z.string().optional(),
	utterance_end_ms: flag.optional(),
	detect_entities: flag.optional(),
	detect_language: flag.optional(),
	diarize: flag.optional(),
	dictation: flag.optional(),
	filler_words: flag.optional(),
	measurements: flag.optional(),
	mip_opt_out: flag.optional(),
	multichannel: flag.optional(),
	numerals: flag.optional(),
	paragraphs: flag.optional(),
	profanity_filter: flag.optional(),
	punctuate: flag.optional(),
	sentiment: flag.optional(),
	smart_format: flag.optional(),
	topics: flag.optional(),
	utterances: flag.optional(),
	interim_results: flag.optional(),
	vad_events: flag.optional(),
	extra: z.string().optional(),
	keyterm: terms.optional(),
	keywords: terms.optional(),
	language: z.string().optional(),
	redact: terms.optional(),
	replace: terms.optional(),
	search: terms.optional(),
};
type Nova = z.output<z.ZodObject<typeof NOVA>>;

const nova: Reader = {
	schema: perModel((model) => modelFields(NOVA, model)),
	body: { field: "audio", as: "wrapped" },
	read({ audio, language, detect_language, keyterm, keywords }: Nova) {
		const detects = detect_language === true || detect_language === "true";
		// `keywords` are `word` or `word:boost`.
		const vocabulary = [keyterm ?? [], keywords ?? []].flat().map((term) => term.replace(/:-?[\d.]+$/, ""));
		return recognize({
			audio: soundOf(audio),
			task: "transcribe",
			...(language && !detects && { language }),
			...(vocabulary.length > 0 && { prompt: vocabulary.join(", ") }),
		});
	},
};

const digits = z.string().regex(/^[0-9]+$/);
const websocketOnly = (): never => {
	throw new AiError("incompleteRequest", "Request is missing headers or body: Upgrade: websocket");
};

const FLUX = {
	encoding: z.enum(["linear16"]),
	sample_rate: digits,
	eager_eot_threshold: z.string().optional(),
	eot_threshold: z.string().optional(),
	eot_timeout_ms: digits.optional(),
	keyterm: terms.optional(),
	mip_opt_out: z.enum(["true", "false"]).optional(),
	tag: z.string().optional(),
};

const flux: Reader = {
	// Nothing is insisted on: whoever runs this model plainly should hear of the websocket, not of a missing field.
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

const DeepgramResults = z.object({
	results: z.object({
		channels: z.array(
			z.object({
				alternatives: z.array(
					z.object({
						confidence: z.number().optional(),
						transcript: z.string(),
						words: z.array(TimedWord.extend({ confidence: z.number().optional() })),
					}),
				),
			}),
		),
	}),
});

const deepgramResults: Writer = {
	schema: DeepgramResults,
	write(answer) {
		const { text, words = [] } = outcomeOf("speech-recognition", answer);
		const known = words.flatMap(({ confidence }) => confidence ?? []);
		const value: z.output<typeof DeepgramResults> = {
			results: {
				channels: [
					{
						alternatives: [
							{
								...(known.length > 0 && { confidence: known.reduce((a, b) => a + b) / known.length }),
								transcript: text,
								words: words.map((word) => ({
									...timedWord(word),
									...(word.confidence !== undefined && { confidence: word.confidence }),
								})),
							},
						],
					},
				],
			},
		};
		return { kind: "json", value };
	},
};

const fluxEvents: Writer = {
	schema: z.object({
		request_id: z.string(),
		sequence_id: z.number(),
		event: z.enum(["Update", "StartOfTurn", "EagerEndOfTurn", "TurnResumed", "EndOfTurn"]),
		turn_index: z.number(),
		audio_window_start: z.number(),
		audio_window_end: z.number(),
		transcript: z.string(),
		words: z.array(z.object({ word: z.string(), confidence: z.number() })),
		end_of_turn_confidence: z.number(),
	}),
	write: websocketOnly,
};

export const deepgramWriters = {
	"deepgram-results": deepgramResults,
	"flux-events": fluxEvents,
} satisfies Partial<Record<OutputShape, Writer>>;
