/**
 * Embeddings without a model: words, pairs of words and runs of letters, hashed to the components of a vector. Texts that
 * share words or parts of words are similar; texts with the same meaning in other words are not.
 */
import { AiError } from "../../core/errors.ts";
import { FNV_OFFSET, fnv1a } from "../../core/fnv.ts";
import type { Answer } from "../../tasks/task.ts";
import type { EmbeddingsInput, EmbeddingsOutput } from "../../tasks/text-embeddings/index.ts";
import type { CallContext } from "../backend.ts";
import { tokenize } from "./tokens.ts";
import { isStopWord, singular, words } from "./words.ts";

const DEFAULT_DIMENSIONS = 768;
/** For a model without a limit. */
const MAX_TEXT_TOKENS = 8192;
const RUN_LENGTHS = [3, 4];
const WEIGHTS = { word: 1, stopWord: 0.15, pair: 0.5, run: 0.25 };

/** Eight decimals: as exact as the floats of a real model, and half the bytes of a double. */
const PRECISION = 1e8;

/** FNV-1a with a final mixing step, so that similar texts get unrelated hashes. */
function hash(text: string, start: number, end: number, seed: number): number {
	const sum = fnv1a(text, seed, start, end);
	const state = Math.imul(sum ^ (sum >>> 15), 0x2c1b3c6d);
	return (state ^ (state >>> 13)) >>> 0;
}

/** A vector of length 1. The same text, seed and dimension always give the same one. */
export function embed(text: string, dimensions: number, seed = FNV_OFFSET): Float64Array {
	const vector = new Float64Array(dimensions);
	const add = (feature: string, start: number, end: number, weight: number) => {
		const place = hash(feature, start, end, seed);
		// The sign makes features that share a component cancel as often as they add up.
		const sign = place & 0x80000000 ? -1 : 1;
		const at = (place & 0x7fffffff) % dimensions;
		vector[at] = (vector[at] ?? 0) + sign * weight;
	};
	let previous = "";
	for (const word of words(text)) {
		const stop = isStopWord(word);
		const stemmed = singular(word);
		add(stemmed, 0, stemmed.length, stop ? WEIGHTS.stopWord : WEIGHTS.word);
		if (stop) continue;
		if (previous) {
			const pair = `${previous} ${stemmed}`;
			add(pair, 0, pair.length, WEIGHTS.pair);
		}
		previous = stemmed;
		const marked = `^${word}$`;
		for (const length of RUN_LENGTHS)
			for (let i = 0; i + length <= marked.length; i++) add(marked, i, i + length, WEIGHTS.run);
	}
	// A text without words still has a direction, so that every cosine with it is a number.
	let norm = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
	if (norm === 0) {
		add(text.trim() || "(empty)", 0, text.trim().length || 7, 1);
		norm = 1;
	}
	return vector.map((value) => Math.round((value / norm) * PRECISION) / PRECISION);
}

// Vectors of two models, or of two poolings of one, cannot be compared; here neither, so that a mix shows in a test.
const seedOf = (modelId: string, pooling: string): number =>
	hash(`${modelId} ${pooling}`, 0, modelId.length + 1 + pooling.length, FNV_OFFSET);

export async function textEmbeddings(
	{ texts, pooling = "mean", dimensions }: EmbeddingsInput,
	{ model }: CallContext,
): Promise<Answer<"text-embeddings">> {
	const full = model.dimensions ?? dimensions ?? DEFAULT_DIMENSIONS;
	const length = dimensions ?? full;
	if (length > full)
		throw new AiError(
			"engineRefused",
			`'dimensions' must be at most ${full}: the model's vectors have that many`,
		);
	const limit = model.maxInputTokens ?? MAX_TEXT_TOKENS;
	const seed = seedOf(model.id, pooling);
	let prompt_tokens = 0;
	const vectors = texts.map((text) => {
		const tokens = tokenize(text);
		prompt_tokens += Math.min(tokens.length, limit);
		const kept = tokens.length > limit ? tokens.slice(0, limit).join("") : text;
		return Array.from(embed(kept, length, seed));
	});
	const output: EmbeddingsOutput = { vectors, usage: { prompt_tokens, total_tokens: prompt_tokens } };
	return { kind: "value", output };
}
