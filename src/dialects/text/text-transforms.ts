/**
 * Classification, summarization and translation on the native routes. Known difference from the product: m2m100's batch
 * form (`{requests: […]}`) is not read here.
 */
import * as z from "zod";
import type { InputShape, OutputShape } from "../../models/family.ts";
import type { LabelsOutput } from "../../tasks/text-classification/types.ts";
import type { Reader, Writer } from "../dialect.ts";
import { defaulted, perModel } from "../fields.ts";
import { outputValue } from "../output-value.ts";

const ClassificationInputs = z.object({ text: z.string().min(1) });
const textClassification: Reader = {
	schema: () => ClassificationInputs,
	read: ({ text }: z.output<typeof ClassificationInputs>) => ({
		task: "text-classification",
		input: { text },
	}),
};

const DEFAULT_SUMMARY_TOKENS = 1024;
const summarizationInputs = perModel((model) =>
	z.object({ input_text: z.string().min(1), max_length: defaulted(model, "max_length", z.int().min(1)) }),
);
type SummarizationInputs = z.output<ReturnType<typeof summarizationInputs>>;

const summarization: Reader = {
	schema: summarizationInputs,
	read: ({ input_text, max_length = DEFAULT_SUMMARY_TOKENS }: SummarizationInputs) => ({
		task: "summarization",
		input: { text: input_text, max_length },
	}),
};

const m2mInputs = perModel((model) =>
	z.object({
		text: z.string().min(1),
		source_lang: defaulted(model, "source_lang", z.string()),
		target_lang: z.string(),
	}),
);
type M2mInputs = z.output<ReturnType<typeof m2mInputs>>;

/** Languages are forwarded unchanged: callers send `en` and `english`. */
const translationM2m: Reader = {
	schema: m2mInputs,
	read: ({ text, source_lang = "en", target_lang }: M2mInputs) => ({
		task: "translation",
		input: { texts: [text], source_lang, target_lang },
	}),
};

/** The product's list, in the notation of FLORES-200: a language and its script. */
const INDIC_LANGUAGES = [
	"asm_Beng",
	"awa_Deva",
	"ben_Beng",
	"bho_Deva",
	"brx_Deva",
	"doi_Deva",
	"eng_Latn",
	"gom_Deva",
	"gon_Deva",
	"guj_Gujr",
	"hin_Deva",
	"hne_Deva",
	"kan_Knda",
	"kas_Arab",
	"kas_Deva",
	"kha_Latn",
	"lus_Latn",
	"mag_Deva",
	"mai_Deva",
	"mal_Mlym",
	"mar_Deva",
	"mni_Beng",
	"mni_Mtei",
	"npi_Deva",
	"ory_Orya",
	"pan_Guru",
	"san_Deva",
	"sat_Olck",
	"snd_Arab",
	"snd_Deva",
	"tam_Taml",
	"tel_Telu",
	"urd_Arab",
	"unr_Deva",
] as const;
const INDIC_SOURCE = "eng_Latn";

const indicInputs = perModel((model) =>
	z.object({
		text: z.union([z.string(), z.array(z.string()).min(1)]),
		target_language: defaulted(model, "target_language", z.enum(INDIC_LANGUAGES)),
	}),
);
type IndicInputs = z.output<ReturnType<typeof indicInputs>>;

const translationIndic: Reader = {
	schema: indicInputs,
	read: ({ text, target_language = "hin_Deva" }: IndicInputs) => ({
		task: "translation",
		input: {
			texts: typeof text === "string" ? [text] : text,
			source_lang: INDIC_SOURCE,
			target_lang: target_language,
		},
	}),
};

export const textTransformReaders = {
	"text-classification": textClassification,
	summarization,
	"translation-m2m": translationM2m,
	"translation-indic": translationIndic,
} satisfies Partial<Record<InputShape, Reader>>;

const Usage = z.object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() });

const Labels = z.array(z.object({ label: z.string(), score: z.number() }));
/** Sentiment labels are always in this order. Other labels are sorted by score. */
const SENTIMENTS = ["NEGATIVE", "POSITIVE"];

const labels: Writer = {
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

const Summary = z.object({ summary: z.string() });
const summary: Writer = {
	schema: Summary,
	write(answer) {
		const value = { summary: outputValue("summarization", answer).summary };
		return { kind: "json", value: value satisfies z.input<typeof Summary> };
	},
};

const Translation = z.object({ translated_text: z.string(), usage: Usage.optional() });
const translation: Writer = {
	schema: Translation,
	write(answer) {
		const { texts, usage } = outputValue("translation", answer);
		const value = { translated_text: texts.join("\n"), ...(usage && { usage }) };
		return { kind: "json", value: value satisfies z.input<typeof Translation> };
	},
};

const Translations = z.object({ translations: z.array(z.string()) });
const translations: Writer = {
	schema: Translations,
	write(answer) {
		const value = { translations: outputValue("translation", answer).texts };
		return { kind: "json", value: value satisfies z.input<typeof Translations> };
	},
};

export const textTransformWriters = { labels, summary, translation, translations } satisfies Partial<
	Record<OutputShape, Writer>
>;
