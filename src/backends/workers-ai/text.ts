/** Tasks with text input and output, in the format of the model. */
import * as z from "zod";
import { SentUsage, type Usage, usageOf } from "../../core/usage.ts";
import { inputFamily } from "../../models/family.ts";
import type { TaskInput } from "../../tasks/task.ts";
import type { Handler } from "../handler.ts";
import { embedTexts as embedOverOpenAi } from "../openai/embeddings.ts";
import { onOpenAiRoutes } from "../openai/hosts.ts";
import { bestRanks, checkRanks } from "../ranking.ts";
import { type Call, failureOfShape } from "../transport/upstream-failure.ts";
import { runJson, upstreamModel, type WorkersAiInputs } from "./run.ts";

/** The limit of one request. bge-m3 accepts more texts as `contexts`. */
const MAX_TEXTS = 100;

const Vectors = z.array(z.array(z.number()).min(1));
const EmbeddingsReply = z
	.looseObject({ data: Vectors.nullish(), response: Vectors.nullish(), usage: SentUsage.nullish() })
	.refine(({ data, response }) => data ?? response);

export const embedTexts: Handler<"text-embeddings"> = async (input, call) => {
	// Only the OpenAI route has `dimensions`.
	if (input.dimensions !== undefined && !call.target.binding)
		return onOpenAiRoutes(embedOverOpenAi)(input, call);
	const reply = await runJson(call, embeddingsInputs(input, call), EmbeddingsReply);
	const vectors = reply.data ?? reply.response ?? [];
	if (vectors.length !== input.texts.length)
		throw failureOfShape(call, `${input.texts.length} embeddings`, vectors);
	const usage = usageOf(reply.usage);
	return {
		vectors,
		...(usage && { usage: { prompt_tokens: usage.prompt_tokens, total_tokens: usage.total_tokens } }),
	};
};

function embeddingsInputs(
	{ texts, pooling, truncate }: TaskInput<"text-embeddings">,
	call: Call,
): WorkersAiInputs {
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

const Rank = z.object({ id: z.int().nonnegative(), score: z.number() });
const RanksReply = z.looseObject({ response: z.array(Rank) });

export const rerank: Handler<"reranking"> = async (input, call) => {
	const { query, contexts, top_k } = input;
	const inputs = { query, contexts: contexts.map((text) => ({ text })), top_k };
	const { response } = await runJson(call, inputs, RanksReply);
	return bestRanks(checkRanks(response, contexts, 0, call), input);
};

export const LabelsReply = z.array(z.object({ label: z.string(), score: z.number() }));

export const classifyText: Handler<"text-classification"> = async ({ text }, call) => ({
	labels: await runJson(call, { text }, LabelsReply),
});

const SummaryReply = z.object({ summary: z.string() });

export const summarize: Handler<"summarization"> = async ({ text, max_length }, call) =>
	runJson(call, { input_text: text, max_length }, SummaryReply);

const TranslationReply = z.looseObject({ translated_text: z.string(), usage: SentUsage.nullish() });
const TranslationsReply = z.looseObject({ translations: z.array(z.string()) });

/** IndicTrans accepts a list of texts, and only English as the source language. M2M accepts one text. */
export const translate: Handler<"translation"> = async ({ texts, source_lang, target_lang }, call) => {
	if (inputFamily(upstreamModel(call)).translatesLists) {
		const inputs = { text: texts, target_language: target_lang };
		const { translations } = await runJson(call, inputs, TranslationsReply);
		if (translations.length !== texts.length)
			throw failureOfShape(call, `${texts.length} translations`, translations);
		return { texts: translations };
	}
	const replies = await Promise.all(
		texts.map((text) => runJson(call, { text, source_lang, target_lang }, TranslationReply)),
	);
	const counts = replies.flatMap(({ usage }) => usageOf(usage) ?? []);
	const sum = (name: "prompt_tokens" | "completion_tokens" | "total_tokens"): number =>
		counts.reduce((total, usage) => total + usage[name], 0);
	const usage: Usage = {
		prompt_tokens: sum("prompt_tokens"),
		completion_tokens: sum("completion_tokens"),
		total_tokens: sum("total_tokens"),
	};
	return { texts: replies.map((reply) => reply.translated_text), ...(counts.length > 0 && { usage }) };
};
