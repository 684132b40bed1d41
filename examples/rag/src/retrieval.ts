/** Finds the passages that answer a question: the nearest by embedding, then ordered by a reranker. */
import { DOCUMENTS, type Document } from "./documents.ts";

const EMBEDDER = "@cf/baai/bge-base-en-v1.5";
const RERANKER = "@cf/baai/bge-reranker-base";
/** Number of documents for the reranker, and number of passages for the answer. */
const CANDIDATES = 4;
const PASSAGES = 2;

export interface Passage extends Document {
	/** The reranker's score. Comparable only within one question. */
	score: number;
}

/**
 * Vectors of `DOCUMENTS`, in their order, for the lifetime of this isolate. The vectors are stored, not their promise, because a request cannot
 * wait for the call of another request.
 */
let vectors: number[][] | undefined;

export async function passagesFor(question: string, ai: Ai): Promise<Passage[]> {
	vectors ??= await embed(
		DOCUMENTS.map(({ text }) => text),
		ai,
	);
	const [questionVector = []] = await embed([question], ai);
	const candidates = vectors
		.map((vector, index) => ({ index, similarity: cosine(vector, questionVector) }))
		.sort((a, b) => b.similarity - a.similarity)
		.slice(0, CANDIDATES)
		.flatMap(({ index }) => DOCUMENTS[index] ?? []);
	// In a variable, because the published type lacks `query`, which the model requires.
	const inputs = { query: question, contexts: candidates.map(({ text }) => ({ text })), top_k: PASSAGES };
	const { response = [] } = await ai.run(RERANKER, inputs);
	return response.flatMap(({ id = -1, score = 0 }) => {
		const document = candidates[id];
		return document ? [{ ...document, score }] : [];
	});
}

async function embed(text: string[], ai: Ai): Promise<number[][]> {
	const output = await ai.run(EMBEDDER, { text });
	if (!("data" in output) || output.data?.length !== text.length) throw new Error("A text has no embedding");
	return output.data;
}

function cosine(a: number[], b: number[]): number {
	let dot = 0;
	let squaresOfA = 0;
	let squaresOfB = 0;
	for (const [index, value] of a.entries()) {
		const other = b[index] ?? 0;
		dot += value * other;
		squaresOfA += value * value;
		squaresOfB += other * other;
	}
	return dot / Math.sqrt(squaresOfA * squaresOfB);
}
