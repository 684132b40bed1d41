/**
 * Chooses the replica of a request.
 *
 * `expected`: the shortest expected time to the first token, which is the tokens of the prompts in front of it and its own
 * uncached tokens, divided by the speed of the replica. Only three kinds of replicas can be the best: those that have the longest
 * beginnings of the prompt (also as other isolates know them), the one that the session used last, and the one with the shortest queue.
 * All others have a longer queue than the last, and no more of the prompt. So the choice takes O(log n) for n replicas.
 */
import { holders } from "./adapter-holders.ts";
import type { HashRing } from "./hash-ring.ts";
import type { MinHeap } from "./min-heap.ts";
import type { PrefixHints } from "./prefix-hints.ts";
import type { Blocks, PrefixIndex } from "./prefix-index.ts";
import type { Replica } from "./replica.ts";
import type { SessionMemory } from "./session-memory.ts";
import { classSpeed } from "./speed.ts";

export const POLICIES = ["expected", "least-tokens", "round-robin", "sticky"] as const;
export type PolicyName = (typeof POLICIES)[number];

/** The part of a request that the choice depends on. */
export interface PoolRequest {
	/** Prompt tokens, estimated. 0 for input that is not text. */
	inputTokens: number;
	/** Limit of the output tokens, if the request has one. */
	maxOutputTokens?: number;
	/** The prompt's complete blocks. */
	blocks: Blocks;
	/** Tokens of a block. */
	blockTokens: number;
	/** Identifies a conversation, within its account. */
	session?: string;
	/** Hash of the beginning that all prompts of a conversation have. Absent: engines cache no part of the input. */
	opening?: number;
	/** The LoRA adapter of the request. Replicas that have it are preferred. */
	adapter?: string;
	/** The first token is observed. Otherwise the answer comes as one value. */
	streamed: boolean;
	/** Number of answers. Absent: the task cannot be split into prefill and decode. */
	choices?: number;
}

export interface ReplicaChoice {
	replica: Replica;
	/** Prompt tokens that the replica probably has in its cache. */
	cachedTokens: number;
	/** Expected milliseconds to the first token. */
	expectedMs: number;
}

/** What a policy may read of a pool. */
export interface PoolView {
	/** Replicas that accept requests. */
	readonly members: readonly Replica[];
	/** The same replicas by class of speed, ordered by their queued tokens. */
	readonly byLoad: ReadonlyMap<number, MinHeap<Replica>>;
	/** The same replicas in the order of their latest choice. */
	readonly byUse: MinHeap<Replica>;
	readonly index: PrefixIndex<Replica>;
	/** What other isolates have sent. */
	readonly hints: PrefixHints;
	readonly sessions: SessionMemory<Replica>;
	readonly ring: HashRing<Replica>;
	/** Tokens per millisecond. */
	readonly speed: number;
	/** Mean of the members. */
	readonly meanQueuedTokens: number;
}

/** Whether a replica can take the request: not tried before, and no open circuit. */
export type Usable = (replica: Replica) => boolean;
export type Policy = (pool: PoolView, request: PoolRequest, usable: Usable) => ReplicaChoice | undefined;

/** Every request has costs besides its tokens. Requests without tokens are counted by this. */
const REQUEST_TOKENS = 64;
/** Holders of the prompt's beginning that are compared. */
const MAX_HOLDERS = 4;
/**
 * Queued tokens that an idle replica must save before a session leaves its replica. Keeps short conversations, whose prompts have
 * no complete block, in one place.
 */
const SESSION_TOKENS = 512;
/** Milliseconds that a replica needs to load an adapter, roughly. */
const ADAPTER_LOAD_MS = 1_000;
/** `sticky`: a session leaves a replica whose queue is longer than the mean by this factor, and by `SESSION_SLACK_TOKENS`. */
const SESSION_LOAD = 1.25;
const SESSION_SLACK_TOKENS = 4_096;

/** Uncached prompt tokens of a request, which the replica has to process. */
export const uncachedTokens = ({ inputTokens }: PoolRequest, cachedTokens: number): number =>
	Math.max(0, inputTokens - cachedTokens) + REQUEST_TOKENS;

/** The expectation for one replica. `cachedBlocks`: how many of the blocks it has, if that is known. */
export function expect(
	pool: PoolView,
	request: PoolRequest,
	replica: Replica,
	cachedBlocks?: number,
): ReplicaChoice {
	const { blocks, blockTokens, inputTokens } = request;
	const matched = cachedBlocks ?? pool.index.match(replica, blocks);
	const known = Math.max(matched * blockTokens, continuedTokens(pool, request, replica, matched));
	const cachedTokens = Math.min(known, Math.max(0, inputTokens - 1));
	const tokens = replica.queuedTokens + uncachedTokens(request, cachedTokens);
	return { replica, cachedTokens, expectedMs: tokens / classSpeed(replica.speedClass, pool.speed) };
}

/** Tokens of the conversation's previous prompt, if the replica has all of it. Its last ones fill no complete block. */
function continuedTokens(
	{ sessions }: PoolView,
	{ opening, session }: PoolRequest,
	replica: Replica,
	matched: number,
): number {
	const latest = session === undefined || opening === undefined ? undefined : sessions.get(session);
	if (!latest || latest.replica !== replica || latest.opening !== opening) return 0;
	return latest.blocks <= matched ? latest.inputTokens : 0;
}

export const POLICY: Record<PolicyName, Policy> = {
	expected(pool, request, usable) {
		const { session } = request;
		const longest = pool.index.longest(request.blocks, MAX_HOLDERS);
		// With fewer holders, all other replicas have no block.
		const otherwise = longest.length < MAX_HOLDERS ? 0 : undefined;
		const candidates = new Map<Replica, number | undefined>();
		for (const heap of pool.byLoad.values()) {
			const idle = heap.first(usable);
			if (idle) candidates.set(idle, otherwise);
		}
		for (const { replica, blocks } of longest)
			if (candidates.has(replica) || usable(replica)) candidates.set(replica, blocks);
		const hint = pool.hints.longest(request.blocks);
		if (hint && usable(hint.replica)) {
			const own = candidates.get(hint.replica) ?? pool.index.match(hint.replica, request.blocks);
			candidates.set(hint.replica, Math.max(hint.blocks, own));
		}
		const home = session === undefined ? undefined : homeOf(pool, session, usable);
		if (home && !candidates.has(home)) candidates.set(home, otherwise);
		const { adapter } = request;
		if (adapter !== undefined)
			for (const member of pool.members)
				if (!candidates.has(member) && holders.has(member.url, adapter) && usable(member))
					candidates.set(member, otherwise);
		let best: ReplicaChoice | undefined;
		let bestMs = Number.POSITIVE_INFINITY;
		for (const [replica, cachedBlocks] of candidates) {
			const choice = expect(pool, request, replica, cachedBlocks);
			const credit = replica === home ? SESSION_TOKENS / pool.speed : 0;
			const load = adapter === undefined || holders.has(replica.url, adapter) ? 0 : ADAPTER_LOAD_MS;
			const ms = choice.expectedMs - credit + load;
			if (ms >= bestMs) continue;
			best = choice;
			bestMs = ms;
		}
		return best;
	},

	"least-tokens"(pool, request, usable) {
		const idle = [...pool.byLoad.values()].flatMap((heap) => heap.first(usable) ?? []);
		const choices = idle.map((replica) => expect(pool, request, replica));
		return choices.sort((one, other) => one.expectedMs - other.expectedMs)[0];
	},

	"round-robin"(pool, request, usable) {
		const next = pool.byUse.first(usable);
		return next && expect(pool, request, next);
	},

	sticky(pool, request, usable) {
		const { session } = request;
		const bound = SESSION_LOAD * pool.meanQueuedTokens + SESSION_SLACK_TOKENS;
		const fits = (replica: Replica) => usable(replica) && replica.queuedTokens <= bound;
		const home = session === undefined ? undefined : homeOf(pool, session, fits);
		return home ? expect(pool, request, home) : POLICY["least-tokens"](pool, request, usable);
	},
};

/** The replica that the session used last. For a new session, its place on the ring, which all isolates have in common. */
function homeOf({ sessions, ring }: PoolView, session: string, usable: Usable): Replica | undefined {
	const latest = sessions.get(session);
	if (latest && usable(latest.replica)) return latest.replica;
	const visited = new Set<Replica>();
	for (const replica of ring.from(session)) {
		if (visited.has(replica)) continue;
		if (usable(replica)) return replica;
		visited.add(replica);
		if (visited.size >= MAX_HOLDERS) return undefined;
	}
	return undefined;
}
