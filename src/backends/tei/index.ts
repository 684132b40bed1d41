/**
 * Text Embeddings Inference: https://huggingface.github.io/text-embeddings-inference. One server has one model, so the
 * target's `model` is not sent, and the server refuses a task that the model does not support with 424.
 *
 * The server decides how token vectors are pooled. It counts tokens only in a header (`x-compute-tokens`), so answers have
 * no usage.
 */
import * as z from "zod";
import { AiError, type FailureKey } from "../../core/errors.ts";
import { defineBackend, type Handler } from "../handler.ts";
import { bestRanks, checkRanks } from "../ranking.ts";
import { postJson } from "../transport/http.ts";
import { failureOfShape } from "../transport/upstream-failure.ts";

const DEFAULT_BATCH_SIZE = 32;
/** 422, or 413 in newer versions. */
const REFUSALS: ReadonlySet<FailureKey> = new Set(["engineRefused", "requestTooLarge"]);
const TOO_MANY = /batch size \d+ > maximum allowed batch size (\d+)/;

/**
 * Sends texts in batches of at most `--max-client-batch-size`, which is 32 by default. The refusal of a larger batch contains the
 * limit; the batch is then sent again in smaller parts. Batches are sent one after the other: the server combines all pending
 * texts itself. Returns the replies, in order.
 * @param send `start` is the index of the first item of the batch.
 */
async function inBatches<Item, Reply>(
	items: readonly Item[],
	send: (batch: Item[], start: number) => Promise<Reply>,
): Promise<Reply[]> {
	const replies: Reply[] = [];
	let size = DEFAULT_BATCH_SIZE;
	let start = 0;
	while (start < items.length) {
		const batch = items.slice(start, start + size);
		try {
			replies.push(await send(batch, start));
			start += batch.length;
		} catch (error) {
			const allowed = allowedSize(error);
			if (allowed === undefined || allowed >= batch.length) throw error;
			size = allowed;
		}
	}
	return replies;
}

function allowedSize(error: unknown): number | undefined {
	if (!(error instanceof AiError) || !REFUSALS.has(error.key)) return undefined;
	const allowed = Number(TOO_MANY.exec(error.description)?.[1]);
	return allowed > 0 ? allowed : undefined;
}

const EmbedReply = z.array(z.array(z.number()).min(1));

/** `/embed`: vectors of unit length, like those of the catalogue's models. */
const embedTexts: Handler<"text-embeddings"> = async ({ texts, truncate, dimensions }, call) => {
	const parts = await inBatches(texts, async (inputs) => {
		const body = { inputs, normalize: true, truncate, dimensions };
		const vectors = await postJson(call, "/embed", body, EmbedReply);
		if (vectors.length !== inputs.length) throw failureOfShape(call, `${inputs.length} embeddings`, vectors);
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
