/** The inputs of Deepgram's models, over HTTP and over a websocket. */
import * as z from "zod";
import { Wrapped } from "./media.ts";

/** A boolean. Websocket callers send it as text. */
const flag = z
	.custom<boolean | "true" | "false">()
	.check((context) => {
		if (![true, false, "true", "false"].includes(context.value))
			context.issues.push({ code: "invalid_type", expected: "boolean", input: context.value });
	})
	.meta({ type: "boolean" });
const flags = <Name extends string>(...names: Name[]) =>
	Object.fromEntries(names.map((name) => [name, flag.optional()])) as Record<
		Name,
		z.ZodOptional<typeof flag>
	>;
/** A number. In a query string it is text. */
const count = z
	.custom<number | string>()
	.check((context) => {
		const { value } = context;
		const isNumeric = typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value);
		if (typeof value !== "number" && !isNumeric)
			context.issues.push({ code: "invalid_type", expected: "number", input: value });
	})
	.meta({ type: "number" });
const terms = z.union([z.string(), z.array(z.string())]);
const matching = z.enum(["extended", "strict"]);

export const NOVA = {
	audio: Wrapped,
	custom_topic_mode: matching.optional(),
	custom_topic: terms.optional(),
	custom_intent_mode: matching.optional(),
	custom_intent: terms.optional(),
	encoding: z.enum(["linear16", "flac", "mulaw", "amr-nb", "amr-wb", "opus", "speex", "g729"]).optional(),
	mode: z.enum(["general", "medical", "finance"]).optional(),
	utt_split: count.optional(),
	channels: count.optional(),
	endpointing: z.string().optional(),
	...flags("utterance_end_ms", "detect_entities", "detect_language", "diarize", "dictation", "filler_words"),
	...flags("measurements", "mip_opt_out", "multichannel", "numerals", "paragraphs", "profanity_filter"),
	...flags("punctuate", "sentiment", "smart_format", "topics", "utterances", "interim_results", "vad_events"),
	extra: z.string().optional(),
	keyterm: terms.optional(),
	keywords: terms.optional(),
	language: z.string().optional(),
	redact: terms.optional(),
	replace: terms.optional(),
	search: terms.optional(),
};

const digits = z.string().regex(/^[0-9]+$/);

export const FLUX = {
	encoding: z.enum(["linear16"]),
	sample_rate: digits,
	eager_eot_threshold: z.string().optional(),
	eot_threshold: z.string().optional(),
	eot_timeout_ms: digits.optional(),
	keyterm: terms.optional(),
	mip_opt_out: z.enum(["true", "false"]).optional(),
	tag: z.string().optional(),
};

type Terms = z.output<typeof terms>;

/** The terms as one prompt. A keyword is `word` or `word:boost`; the boost is removed. */
export function vocabularyOf(sent: { keyterm?: Terms | undefined; keywords?: Terms | undefined }): string {
	const terms = [sent.keyterm ?? [], sent.keywords ?? []].flat();
	return terms.map((term) => term.replace(/:-?[\d.]+$/, "")).join(", ");
}
