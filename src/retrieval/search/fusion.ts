/**
 * Joins the matches of the vectors and of the keywords, and ranks them.
 *
 * - `rrf`: the sum of 1 / (60 + rank), divided by the largest sum that is possible, so that 1 is the first one of both.
 * - `max`: the larger one of the vector's score and of the keyword's score, which is divided by the best one of the search.
 */
import type { VectorMatch } from "../vectors/records.ts";
import { searchFailure } from "./failures.ts";
import { typeOfField } from "./metadata.ts";
import type { Boost, CustomField, FoundChunk, IndexedMetadata, KeywordMatch } from "./records.ts";

const RANK_CONSTANT = 60;
/** A boost adds at most so much to a score. */
const BOOST = 0.1;

/** Ranks count from 1. */
export interface RankedChunk {
	id: string;
	score: number;
	vectorScore?: number;
	vectorRank?: number;
	keywordScore?: number;
	keywordRank?: number;
	rerankingScore?: number;
}

/** `undefined`: the search did not use it. */
interface Matches {
	vector: readonly Pick<VectorMatch, "id" | "score">[] | undefined;
	keyword: readonly KeywordMatch[] | undefined;
}

export function fused({ keyword, vector }: Matches, method: "rrf" | "max"): RankedChunk[] {
	const chunks = new Map<string, RankedChunk>();
	const chunk = (id: string): RankedChunk => {
		const known = chunks.get(id) ?? { id, score: 0 };
		chunks.set(id, known);
		return known;
	};
	for (const [index, { id, score }] of (vector ?? []).entries())
		Object.assign(chunk(id), { vectorScore: score, vectorRank: index + 1 });
	for (const [index, { id, score }] of (keyword ?? []).entries())
		Object.assign(chunk(id), { keywordScore: score, keywordRank: index + 1 });
	const best = keyword?.[0]?.score || 1;
	const isHybrid = vector !== undefined && keyword !== undefined;
	for (const one of chunks.values()) {
		const { keywordRank, keywordScore = 0, vectorRank, vectorScore = 0 } = one;
		one.score =
			isHybrid && method === "rrf"
				? ((reciprocal(vectorRank) + reciprocal(keywordRank)) * (RANK_CONSTANT + 1)) / 2
				: Math.max(vectorScore, keywordScore / best);
	}
	return sorted([...chunks.values()]);
}

const reciprocal = (rank: number | undefined): number =>
	rank === undefined ? 0 : 1 / (RANK_CONSTANT + rank);

/** Chunks with the same score stay in their order. */
export const sorted = <Chunk extends { score: number }>(chunks: readonly Chunk[]): Chunk[] =>
	[...chunks].sort((one, other) => other.score - one.score);

/** Throws 1001 for a field that does not exist, or that has no order. */
export function checkBoosts(boosts: readonly Boost[], custom: readonly CustomField[]): Boost[] {
	return boosts.map(({ direction, field }) => {
		const name = field.toLowerCase();
		const type = typeOfField(name, custom);
		if (type === undefined)
			throw searchFailure("searchFilterInvalid", `boost_by: ${name} is no field of custom_metadata`);
		const hasOrder = type === "number" || type === "datetime";
		if ((direction === "asc" || direction === "desc") && !hasOrder)
			throw searchFailure("searchFilterInvalid", `boost_by: ${name} has no order: use exists or not_exists`);
		return { field: name, direction: direction ?? (hasOrder ? "asc" : "exists") };
	});
}

/** Adds up to {@link BOOST} for each boost. `desc`: the largest value gets most. */
export function boosted<Chunk extends RankedChunk>(
	chunks: readonly (Chunk & Pick<FoundChunk, "indexed">)[],
	boosts: readonly Boost[],
): (Chunk & Pick<FoundChunk, "indexed">)[] {
	if (boosts.length === 0) return [...chunks];
	const scores = boosts.map((boost) =>
		boostOf(
			boost,
			chunks.map(({ indexed }) => indexed),
		),
	);
	return sorted(
		chunks.map((chunk) => ({
			...chunk,
			score: chunk.score + BOOST * scores.reduce((sum, score) => sum + score(chunk.indexed), 0),
		})),
	);
}

function boostOf(
	{ direction, field }: Boost,
	all: readonly IndexedMetadata[],
): (indexed: IndexedMetadata) => number {
	if (direction === "exists" || direction === "not_exists")
		return (indexed) => Number((indexed[field] !== undefined) === (direction === "exists"));
	const numbers = all.map((indexed) => indexed[field]).filter((value) => typeof value === "number");
	const low = Math.min(...numbers);
	const width = Math.max(...numbers) - low;
	return (indexed) => {
		const value = indexed[field];
		if (typeof value !== "number") return 0;
		const place = width > 0 ? (value - low) / width : 1;
		return direction === "desc" || width === 0 ? place : 1 - place;
	};
}
