import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { textTransformReaders, textTransformWriters } from "../../../src/dialects/text/text-transforms.ts";
import { productModel, read, refusal, write } from "../read-write.ts";

const distilbert = productModel("@cf/huggingface/distilbert-sst-2-int8");
const resnet = productModel("@cf/microsoft/resnet-50");
const bart = productModel("@cf/facebook/bart-large-cnn");
const m2m = productModel("@cf/meta/m2m100-1.2b");
const indic = productModel("@cf/ai4bharat/indictrans2-en-indic-1B");
const readers = textTransformReaders;
const writers = textTransformWriters;

describe("text classification", () => {
	const reader = readers["text-classification"];

	it("reads a text", () => {
		expect(read(reader, distilbert, { text: "Great pizza" }).call).toEqual({
			task: "text-classification",
			input: { text: "Great pizza" },
		});
		expect(refusal(reader, distilbert, { text: "" })).toBe("Error: Length of '/text' must be >= 1 not met");
		expect(refusal(reader, distilbert, { text: ["a"] })).toBe(
			"Error: Type mismatch of '/text', 'string' not in 'array','binary'",
		);
	});

	it("writes sentiments in the product's order, and other labels best first", () => {
		const parsed = read(reader, distilbert, { text: "Great pizza" });
		const negative = { label: "NEGATIVE", score: 0.1 };
		const positive = { label: "POSITIVE", score: 0.9 };
		expect(write(writers.labels, parsed, "text-classification", { labels: [positive, negative] })).toEqual({
			kind: "json",
			value: [negative, positive],
		});
		const joy = { label: "joy", score: 0.9 };
		const anger = { label: "anger", score: 0.1 };
		expect(write(writers.labels, parsed, "text-classification", { labels: [anger, joy] })).toEqual({
			kind: "json",
			value: [joy, anger],
		});
	});
});

describe("image classification", () => {
	it("writes labels best first", () => {
		const parsed = { ...read(readers["text-classification"], distilbert, { text: "-" }), model: resnet };
		const tabby = { label: "TABBY", score: 0.2 };
		const tiger = { label: "TIGER CAT", score: 0.7 };
		const answer = { labels: [tabby, tiger] };
		expect(write(writers.labels, parsed, "image-classification", answer)).toEqual({
			kind: "json",
			value: [tiger, tabby],
		});
	});
});

describe("summarization", () => {
	const reader = readers.summarization;

	it("reads a text and the length of its summary", () => {
		expect(read(reader, bart, { input_text: "long" }).call).toEqual({
			task: "summarization",
			input: { text: "long", max_length: 1024 },
		});
		expect(read(reader, bart, { input_text: "long", max_length: 5 }).call.input).toMatchObject({
			max_length: 5,
		});
		expect(refusal(reader, bart, { text: "long" })).toBe(
			"Error: required properties at '/' are 'input_text'",
		);
		expect(refusal(reader, bart, { input_text: "long", max_length: "5" })).toBe(
			"Error: Type mismatch of '/max_length', 'integer' not in 'string'",
		);
	});

	it("writes the summary", () => {
		const parsed = read(reader, bart, { input_text: "long" });
		expect(write(writers.summary, parsed, "summarization", { summary: "short" })).toEqual({
			kind: "json",
			value: { summary: "short" },
		});
	});
});

describe("translation-m2m", () => {
	const reader = readers["translation-m2m"];

	it("reads a text and its languages, with English as the default source", () => {
		expect(read(reader, m2m, { text: "hello", target_lang: "french" }).call).toEqual({
			task: "translation",
			input: { texts: ["hello"], source_lang: "en", target_lang: "french" },
		});
		expect(
			read(reader, m2m, { text: "hola", source_lang: "es", target_lang: "fr" }).call.input,
		).toMatchObject({
			source_lang: "es",
		});
		expect(refusal(reader, m2m, { text: "hello" })).toBe(
			"Error: required properties at '/' are 'text,target_lang'",
		);
	});

	it("writes the translated text, with the usage if it is known", () => {
		const parsed = read(reader, m2m, { text: "hello", target_lang: "fr" });
		const usage = { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 };
		expect(write(writers.translation, parsed, "translation", { texts: ["bonjour"], usage })).toEqual({
			kind: "json",
			value: { translated_text: "bonjour", usage },
		});
		expect(write(writers.translation, parsed, "translation", { texts: ["bonjour"] })).toEqual({
			kind: "json",
			value: { translated_text: "bonjour" },
		});
	});
});

describe("translation-indic", () => {
	const reader = readers["translation-indic"];

	it("reads one English text or several, with Hindi as the default target", () => {
		expect(read(reader, indic, { text: "hello" }).call).toEqual({
			task: "translation",
			input: { texts: ["hello"], source_lang: "eng_Latn", target_lang: "hin_Deva" },
		});
		expect(read(reader, indic, { text: ["a", "b"], target_language: "tam_Taml" }).call.input).toMatchObject({
			texts: ["a", "b"],
			target_lang: "tam_Taml",
		});
	});

	it("refuses unsupported languages", () => {
		const text = refusal(reader, indic, { text: "hello", target_language: "fra_Latn" });
		expect(text).toMatch(/^Error: enum value not in asm_Beng,awa_Deva,.*,unr_Deva at '\/target_language'$/);
		expect(text.match(/[a-z]{3}_[A-Z][a-z]{3}/g)).toHaveLength(34);
	});

	it("writes one translation per text", () => {
		const parsed = read(reader, indic, { text: ["a", "b"] });
		expect(write(writers.translations, parsed, "translation", { texts: ["क", "ख"] })).toEqual({
			kind: "json",
			value: { translations: ["क", "ख"] },
		});
	});
});

describe("an invalid answer of a backend", () => {
	it("is an error", () => {
		const parsed = read(readers.summarization, bart, { input_text: "long" });
		for (const writer of Object.values(writers))
			expect(() => write(writer, parsed, "reranking", { ranks: [] })).toThrow(AiError);
	});
});
