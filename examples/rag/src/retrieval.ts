/** From a question to the passages that answer it: near by embedding, then ordered by a model that reads both. */
import { DOCUMENTS, type Document } from "./documents.ts";

const EMBEDDER = "@cf/baai/bge-base-en-v1.5";
const RERANKER = "@cf/baai/bge-reranker-base";
/** Documents that the reranker reads, and those of them that the answer is made from. */
const CANDIDATES = 4;
const PASSAGES = 2;

export interface Passage extends Document {
	/** How well it answers, by the reranker; comparable only within one question. */
	score: number;
}

/**
 * Of `DOCUMENTS`, in their order, while this isolate lives. The vectors are kept and not the promise of them: a Worker
 * cannot wait for another request's call.
 */
let vectors: number[][] | undefined;

export async function passagesFor(question: string, ai: Ai): Promise<Passage[]> {
	vectors ??= await embed(
		DOCUMENTS.map(({ text }) => text),
		ai,
	);
	const [asked = []] = await embed([question], ai);
	const candidates = vectors
		.map((vector, index) => ({ index, similarity: cosine(vector, asked) }))
		.sort((a, b) => b.similarity - a.similarity)
		.slice(0, CANDIDATES)
		.flatMap(({ index }) => DOCUMENTS[index] ?? []);
	// Apart from the call, since the published type has no `query`, which the model requires.
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
