/**
 * Orders the models of a pool for one request, by rules. First the models that can take the input; among them the smallest tier that is
 * enough, then larger tiers, then smaller ones; in one tier the cheapest, then the order of the pool. No state: a
 * conversation stays with its model, because its opening decides, which all of its turns contain.
 */
import type { RequestFeatures } from "./features.ts";
import type { Tier } from "./pool.ts";

export interface PoolCandidate {
	id: string;
	tier: Tier;
	/** US dollars per million output tokens. Absent: unknown. */
	outputUsd?: number | undefined;
	/** Tokens. Absent: unknown. */
	contextWindow?: number | undefined;
	/** Absent: unknown, so that it is not left out for its input. */
	vision?: boolean;
	tools?: boolean;
}

/** The product's names. */
type RoutingReason =
	| "cost_optimal_within_pool"
	| "forced_by_candidate_pool"
	| "pinned_by_turn"
	| "fallback_candidate_unavailable"
	| "fallback_unsupported_input";

export interface Ranking {
	/** In the order in which they are called if each fails. */
	candidates: readonly PoolCandidate[];
	/** Left out because they cannot take the input, and why. */
	unsuited: readonly { id: string; reason: "context" | "images" | "tools" }[];
	/** The tier that the request needs. */
	tier: Tier;
	/** If the first candidate answers. */
	reason: RoutingReason;
}

const CHARACTERS_PER_TOKEN = 3;
/** An opening of this length needs tier 2, and tier 3. */
const MEDIUM_CHARACTERS = 2_000;
const LARGE_CHARACTERS = 24_000;
/** An agent with so many tools needs tier 3. */
const MANY_TOOLS = 12;

const HIGH_EFFORTS: ReadonlySet<string> = new Set(["high", "xhigh", "max"]);
const LOW_EFFORTS: ReadonlySet<string> = new Set(["none", "minimal", "low"]);

/** `followsConversation`: the opening decides, not the latest message. */
export function rank(
	pool: readonly PoolCandidate[],
	features: RequestFeatures,
	{ followsConversation = true }: { followsConversation?: boolean } = {},
): Ranking {
	const tier = neededTier(
		features,
		followsConversation ? features.openingCharacters : features.latestCharacters,
	);
	const unsuited = pool.flatMap((candidate) => {
		const reason = unsuitedReason(candidate, features);
		return reason ? [{ id: candidate.id, reason }] : [];
	});
	const suited = pool.filter(({ id }) => !unsuited.some((each) => each.id === id));
	const ordered = (suited.length > 0 ? suited : pool).toSorted(
		(a, b) => distance(a.tier, tier) - distance(b.tier, tier) || costOf(a) - costOf(b),
	);
	return {
		candidates: ordered,
		unsuited,
		tier,
		reason: reasonOf(pool, suited, features, followsConversation),
	};
}

function neededTier({ tools, effort = "" }: RequestFeatures, characters: number): Tier {
	if (HIGH_EFFORTS.has(effort) || characters > LARGE_CHARACTERS || tools > MANY_TOOLS) return 3;
	if (tools > 0 || characters > MEDIUM_CHARACTERS) return 2;
	return LOW_EFFORTS.has(effort) || effort === "" ? 1 : 2;
}

function unsuitedReason(
	{ contextWindow, vision, tools }: PoolCandidate,
	features: RequestFeatures,
): "context" | "images" | "tools" | undefined {
	if (contextWindow !== undefined && features.characters > contextWindow * CHARACTERS_PER_TOKEN)
		return "context";
	if (features.hasImages && vision === false) return "images";
	return features.tools > 0 && tools === false ? "tools" : undefined;
}

/** A tier that is too small comes after every tier that is enough. */
const distance = (tier: Tier, needed: Tier): number => (tier >= needed ? tier - needed : 10 + needed - tier);
const costOf = ({ outputUsd }: PoolCandidate): number => outputUsd ?? Number.MAX_VALUE;

function reasonOf(
	pool: readonly PoolCandidate[],
	suited: readonly PoolCandidate[],
	{ turns }: RequestFeatures,
	followsConversation: boolean,
): RoutingReason {
	if (suited.length === 0) return "fallback_unsupported_input";
	if (pool.length === 1) return "forced_by_candidate_pool";
	return turns > 1 && followsConversation ? "pinned_by_turn" : "cost_optimal_within_pool";
}
