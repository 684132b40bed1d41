/** Finds the passages that answer a question: the nearest by embedding in Vectorize, then ordered by a reranker. */
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

type Services = Pick<Env, "AI" | "VECTORIZE">;

export async function passagesFor(question: string, env: Services): Promise<Passage[]> {
	await store(env);
	const [vector = []] = await embed([question], env.AI);
	const { matches } = await env.VECTORIZE.query(vector, { topK: CANDIDATES });
	const candidates = matches.flatMap(({ id }) => DOCUMENTS.find(({ source }) => source === id) ?? []);
	if (candidates.length === 0) return [];
	// In a variable, because the published type lacks `query`, which the model requires.
	const inputs = { query: question, contexts: candidates.map(({ text }) => ({ text })), top_k: PASSAGES };
	const { response = [] } = await env.AI.run(RERANKER, inputs);
	return response.flatMap(({ id = -1, score = 0 }) => {
		const document = candidates[id];
		return document ? [{ ...document, score }] : [];
	});
}

/** Stores the vectors of the documents that the index does not have. Deployed, they are found some seconds later. */
async function store({ AI, VECTORIZE }: Services): Promise<void> {
	const stored = await VECTORIZE.getByIds(DOCUMENTS.map(({ source }) => source));
	const known = new Set(stored.map(({ id }) => id));
	const missing = DOCUMENTS.filter(({ source }) => !known.has(source));
	if (missing.length === 0) return;
	const vectors = await embed(
		missing.map(({ text }) => text),
		AI,
	);
	await VECTORIZE.upsert(missing.map(({ source }, index) => ({ id: source, values: vectors[index] ?? [] })));
}

async function embed(text: string[], ai: Ai): Promise<number[][]> {
	const output = await ai.run(EMBEDDER, { text });
	if (!("data" in output) || output.data?.length !== text.length) throw new Error("A text has no embedding");
	return output.data;
}
