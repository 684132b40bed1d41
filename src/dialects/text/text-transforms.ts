/**
 * Classification, summarization and translation on the native routes. Known difference from the product: m2m100's batch
 * form (`{requests: […]}`) is not read here.
 */
import * as z from "zod";
import type { InputShape, OutputShape } from "../../models/family.ts";
import type { LabelsOutput } from "../../tasks/text-classification/index.ts";
import type { NativeWriter, Reader } from "../dialect.ts";
import { fieldsReader } from "../fields.ts";
import { jsonWriter, outputValue } from "../output-value.ts";

const textClassification = fieldsReader({ text: z.string().min(1) }, ({ text }) => ({
	task: "text-classification",
	input: { text },
}));

const DEFAULT_SUMMARY_TOKENS = 1024;

const summarization = fieldsReader(
	{ input_text: z.string().min(1), max_length: z.int().min(1).optional() },
	({ input_text, max_length = DEFAULT_SUMMARY_TOKENS }) => ({
		task: "summarization",
		input: { text: input_text, max_length },
	}),
);

/** Languages are forwarded unchanged: callers send `en` and `english`. */
const translationM2m = fieldsReader(
	{ text: z.string().min(1), source_lang: z.string().optional(), target_lang: z.string() },
	({ text, source_lang = "en", target_lang }) => ({
		task: "translation",
		input: { texts: [text], source_lang, target_lang },
	}),
);

/** The product's list, in the notation of FLORES-200: a language and its script. */
const INDIC_LANGUAGES =
	"asm_Beng awa_Deva ben_Beng bho_Deva brx_Deva doi_Deva eng_Latn gom_Deva gon_Deva guj_Gujr hin_Deva hne_Deva kan_Knda kas_Arab kas_Deva kha_Latn lus_Latn mag_Deva mai_Deva mal_Mlym mar_Deva mni_Beng mni_Mtei npi_Deva ory_Orya pan_Guru san_Deva sat_Olck snd_Arab snd_Deva tam_Taml tel_Telu urd_Arab unr_Deva".split(
		" ",
	);
const INDIC_SOURCE = "eng_Latn";

const translationIndic = fieldsReader(
	{
		text: z.union([z.string(), z.array(z.string()).min(1)]),
		target_language: z.enum(INDIC_LANGUAGES).optional(),
	},
	({ text, target_language = "hin_Deva" }) => ({
		task: "translation",
		input: {
			texts: typeof text === "string" ? [text] : text,
			source_lang: INDIC_SOURCE,
			target_lang: target_language,
		},
	}),
);

export const textTransformReaders = {
	"text-classification": textClassification,
	summarization,
	"translation-m2m": translationM2m,
	"translation-indic": translationIndic,
} satisfies Partial<Record<InputShape, Reader>>;

const Labels = z.array(z.object({ label: z.string(), score: z.number() }));
/** Sentiment labels are always in this order. Other labels are sorted by score. */
const SENTIMENTS = ["NEGATIVE", "POSITIVE"];

const labels: NativeWriter = {
	schema: Labels,
	write(answer) {
		const output =
			answer.task === "image-classification"
				? outputValue("image-classification", answer)
				: outputValue("text-classification", answer);
		const value = sortLabels(output.labels).map(({ label, score }) => ({ label, score }));
		return { kind: "json", value: value satisfies z.input<typeof Labels> };
	},
};

function sortLabels(labels: LabelsOutput["labels"]): LabelsOutput["labels"] {
	const bySentiment = labels.every(({ label }) => SENTIMENTS.includes(label));
	return labels.toSorted((a, b) =>
		bySentiment ? SENTIMENTS.indexOf(a.label) - SENTIMENTS.indexOf(b.label) : b.score - a.score,
	);
}

const Usage = z.object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() });
const Translation = z.object({ translated_text: z.string(), usage: Usage.optional() });

export const textTransformWriters = {
	labels,
	summary: jsonWriter("summarization", z.object({ summary: z.string() }), ({ summary }) => ({ summary })),
	translation: jsonWriter("translation", Translation, ({ texts, usage }) => ({
		translated_text: texts.join("\n"),
		...(usage && { usage }),
	})),
	translations: jsonWriter("translation", z.object({ translations: z.array(z.string()) }), ({ texts }) => ({
		translations: texts,
	})),
} satisfies Partial<Record<OutputShape, NativeWriter>>;
