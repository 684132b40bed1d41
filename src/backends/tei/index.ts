/**
 * Text Embeddings Inference: https://huggingface.github.io/text-embeddings-inference. One server has one model, so the
 * target's `model` is not sent, and the server refuses a task that the model does not support with 424.
 *
 * The server decides how token vectors are pooled. It counts tokens only in a header (`x-compute-tokens`), so answers have
 * no usage.
 */
import * as z from "zod";
import { defineBackend, type Handler } from "../handler.ts";
import { bestRanks, checkRanks } from "../ranking.ts";
import { postJson } from "../transport/http.ts";
import { failureOfShape } from "../transport/upstream-failure.ts";
import { inBatches } from "./batches.ts";

const EmbedReply = z.array(z.array(z.number()).min(1));

/** `/embed`: vectors of unit length, like those of the catalogue's models. */
const embedTexts: Handler<"text-embeddings"> = async ({ texts, truncate, dimensions }, call) => {
	const parts = await inBatches(texts, async (inputs) => {
		const body = { inputs, normalize: true, truncate, dimensions };
		const vectors = await postJson(call, "/embed", body, EmbedReply);
		if (vectors.length !== inputs.length) throw failureOfShape(call, `${inputs.length} embeddings`);
		return vectors;
	});
	return { vectors: parts.flat() };
};

const RerankReply = z.array(z.looseObject({ index: z.int().nonnegative(), score: z.number() }));

/**
 * `/rerank`. The server has no limit on the number of results, so `top_k` is applied here. A pair that is too long is
 * truncated; otherwise it would fail the complete request.
 */
const rerank: Handler<"reranking"> = async (input, call) => {
	const parts = await inBatches(input.contexts, async (texts, start) => {
		// Probabilities do not depend on the other pairs, so the scores of several calls can be compared.
		const body = { query: input.query, texts, raw_scores: false, truncate: true };
		const ranks = await postJson(call, "/rerank", body, RerankReply);
		const ofBatch = ranks.map(({ index, score }) => ({ id: index, score }));
		return checkRanks(ofBatch, texts, texts.length, call).map(({ id, score }) => ({ id: start + id, score }));
	});
	return bestRanks(parts.flat(), input);
};

const PredictReply = z.array(z.object({ label: z.string(), score: z.number() })).min(1);

/** `/predict`: every label of the model with its probability, best first. A text that is too long is truncated. */
const classifyText: Handler<"text-classification"> = async ({ text }, call) => {
	const body = { inputs: text, raw_scores: false, truncate: true };
	return { labels: await postJson(call, "/predict", body, PredictReply) };
};

export const tei = defineBackend({
	"text-embeddings": embedTexts,
	reranking: rerank,
	"text-classification": classifyText,
});
