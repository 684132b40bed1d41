/** Tasks with text input and output, in the format of the model. */

import * as z from "zod";
import { SentUsage, usageOf } from "../../core/usage.ts";
import { inputFamily } from "../../models/family.ts";
import type { RerankingInput } from "../../tasks/reranking/types.ts";
import type { SummarizationInput } from "../../tasks/summarization/types.ts";
import type { Answer } from "../../tasks/task.ts";
import type { ClassifyTextInput } from "../../tasks/text-classification/types.ts";
import type { EmbeddingsInput } from "../../tasks/text-embeddings/types.ts";
import type { TranslationInput } from "../../tasks/translation/types.ts";
import { embedTexts as embedOverOpenAi } from "../openai/embeddings.ts";
import { type Call, failureOfShape } from "../transport/upstream-failure.ts";
import { runJson, upstreamModel, value } from "./run.ts";

/** The limit of one request. bge-m3 accepts more texts as `contexts`. */
const MAX_TEXTS = 100;

const Vectors = z.array(z.array(z.number()).min(1));
const EmbeddingsReply = z
	.looseObject({ data: Vectors.nullish(), response: Vectors.nullish(), usage: SentUsage.nullish() })
	.refine(({ data, response }) => data ?? response);

export async function embedTexts(input: EmbeddingsInput, call: Call): Promise<Answer<"text-embeddings">> {
	// Only the OpenAI route has `dimensions`.
	if (input.dimensions !== undefined && !call.target.binding)
		return embedOverOpenAi(input, { ...call, target: { ...call.target, url: `${call.target.url}/v1` } });
	const reply = await runJson(call, embeddingsInputs(input, call), EmbeddingsReply);
	const vectors = reply.data ?? reply.response ?? [];
	if (vectors.length !== input.texts.length) throw failureOfShape(call, `${input.texts.length} embeddings`);
	const usage = usageOf(reply.usage);
	return value({
		vectors,
		...(usage && { usage: { prompt_tokens: usage.prompt_tokens, total_tokens: usage.total_tokens } }),
	});
}

function embeddingsInputs(
	{ texts, pooling, truncate }: EmbeddingsInput,
	call: Call,
): Record<string, unknown> {
	const traits = inputFamily(upstreamModel(call)).embeddings;
	if (traits?.pooling === "chosen") return { text: texts, pooling };
	if (traits?.truncation === "chosen")
		return {
			...(texts.length > MAX_TEXTS ? { contexts: texts.map((text) => ({ text })) } : { text: texts }),
			truncate_inputs: truncate,
		};
	// The texts for qwen3 already contain its instruction; it takes `text` unchanged.
	return { text: texts };
}

const RanksReply = z.looseObject({
	response: z.array(z.looseObject({ id: z.int().nonnegative(), score: z.number() })),
});

export async function rerank(
	{ query, contexts, top_k }: RerankingInput,
	call: Call,
): Promise<Answer<"reranking">> {
	const { response } = await runJson(
		call,
		{ query, contexts: contexts.map((text) => ({ text })), top_k },
		RanksReply,
	);
	const indices = new Set(response.map(({ id }) => id).filter((id) => id < contexts.length));
	if (indices.size !== response.length)
		throw failureOfShape(call, `a ranking of ${contexts.length} contexts`);
	const ranks = response.map(({ id, score }) => ({ id, score })).sort((a, b) => b.score - a.score);
	return value({ ranks: ranks.slice(0, top_k) });
}

export const LabelsReply = z.array(z.looseObject({ label: z.string(), score: z.number() }));

export async function classifyText(
	{ text }: ClassifyTextInput,
	call: Call,
): Promise<Answer<"text-classification">> {
	const labels = await runJson(call, { text }, LabelsReply);
	return value({ labels: labels.map(({ label, score }) => ({ label, score })) });
}

const SummaryReply = z.looseObject({ summary: z.string() });

export async function summarize(
	{ text, max_length }: SummarizationInput,
	call: Call,
): Promise<Answer<"summarization">> {
	const { summary } = await runJson(call, { input_text: text, max_length }, SummaryReply);
	return value({ summary });
}

const TranslationReply = z.looseObject({ translated_text: z.string(), usage: SentUsage.nullish() });
const TranslationsReply = z.looseObject({ translations: z.array(z.string()) });

/** IndicTrans accepts a list of texts, and only English as the source language. M2M accepts one text. */
export async function translate(
	{ texts, source_lang, target_lang }: TranslationInput,
	call: Call,
): Promise<Answer<"translation">> {
	if (inputFamily(upstreamModel(call)).translatesLists) {
		const inputs = { text: texts, target_language: target_lang };
		const { translations } = await runJson(call, inputs, TranslationsReply);
		if (translations.length !== texts.length) throw failureOfShape(call, `${texts.length} translations`);
		return value({ texts: translations });
	}
	const replies = await Promise.all(
		texts.map((text) => runJson(call, { text, source_lang, target_lang }, TranslationReply)),
	);
	const counts = replies.flatMap(({ usage }) => usageOf(usage) ?? []);
	const sum = (count: (usage: (typeof counts)[number]) => number): number =>
		counts.reduce((total, usage) => total + count(usage), 0);
	return value({
		texts: replies.map(({ translated_text }) => translated_text),
		...(counts.length > 0 && {
			usage: {
				prompt_tokens: sum((usage) => usage.prompt_tokens),
				completion_tokens: sum((usage) => usage.completion_tokens),
				total_tokens: sum((usage) => usage.total_tokens),
			},
		}),
	});
}
