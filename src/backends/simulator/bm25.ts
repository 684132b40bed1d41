/** Okapi BM25 over a handful of documents that live for one request, with scores that can be compared. */

/** How soon a repeated term stops counting. */
const K1 = 1.2;
/** How much a long document is held back. Sentences differ little in length by intent, so less than the usual 0.75. */
const B = 0.3;

export interface Relevance {
	/** Place of the document in the input. */
	index: number;
	/** 0 to 1: of the score that a document made for the query would reach. */
	score: number;
	/** 0 to 1: the share of the query's weight that the document has at all. */
	coverage: number;
	/** The query's terms that it has. */
	matched: string[];
}

/**
 * What each document is worth to the query, in the order of the documents. Terms of few documents weigh more, those of
 * none the most; `emphasis` multiplies.
 */
export function relevance(
	query: readonly string[],
	documents: readonly (readonly string[])[],
	emphasis: (term: string) => number = () => 1,
): Relevance[] {
	const asked = new Map([...new Set(query)].map((term, place) => [term, { place, having: 0, weight: 0 }]));
	// Of each document the terms that are asked for, as often as it has them: the work is that of reading it once.
	const counts = documents.map((document) => {
		const count = new Map<string, number>();
		for (const term of document) if (asked.has(term)) count.set(term, (count.get(term) ?? 0) + 1);
		return count;
	});
	const averageLength = documents.reduce((sum, document) => sum + document.length, 0) / documents.length || 1;
	for (const count of counts)
		for (const term of count.keys()) {
			const known = asked.get(term);
			if (known) known.having++;
		}
	let total = 0;
	for (const [term, known] of asked) {
		known.weight = emphasis(term) * Math.log(1 + (documents.length + 1) / (known.having + 0.5));
		total += known.weight;
	}

	return counts.map((count, index) => {
		const length = documents[index]?.length ?? 0;
		const damping = K1 * (1 - B + (B * length) / averageLength);
		const found: Relevance = { index, score: 0, coverage: 0, matched: [] };
		const places = Array.from(count, ([term, times]) => ({
			term,
			times,
			place: 0,
			weight: 0,
			...asked.get(term),
		}));
		// In the query's order: sums of fractions depend on theirs.
		for (const { term, times, weight } of places.sort((a, b) => a.place - b.place)) {
			found.score += (weight * times) / (times + damping) / (total || 1);
			found.coverage += weight / (total || 1);
			found.matched.push(term);
		}
		return found;
	});
}
