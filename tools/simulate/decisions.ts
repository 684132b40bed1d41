/**
 * The cost of one decision by the number of replicas, as a ratio to the smallest pool. The pools have random loads, and prompts of
 * conversations of which some are cached. The pools take turns, so that a busy machine affects all of them.
 */
import { Pool } from "../../src/pools/pool.ts";
import { Random } from "../soak/random.ts";

export interface Decision {
	replicas: number;
	/** Median microseconds of a choice. */
	us: number;
	/** To the first pool. */
	ratio: number;
}

const BLOCK_TOKENS = 512;
const PROMPT_BLOCKS = 24;
/** Requests in progress, and conversations, for each replica. */
const REQUESTS = 2;
const CONVERSATIONS = 4;
const ROUNDS = 40;
const CHOICES_PER_ROUND = 500;

function loadedPool(replicas: number, random: Random) {
	const pool = new Pool(
		Array.from({ length: replicas }, (_, i) => `http://engine-${i}:8000/v1`),
		{ cacheBlocks: 1_000, maxPairs: replicas * 200 },
	);
	const conversations = replicas * CONVERSATIONS;
	const request = () => {
		const conversation = random.int(0, conversations - 1);
		// All begin with the same block.
		const blocks = Array.from({ length: PROMPT_BLOCKS }, (_, i) =>
			i === 0 ? 0 : conversation * PROMPT_BLOCKS + i,
		);
		return {
			inputTokens: blocks.length * BLOCK_TOKENS,
			blocks,
			blockTokens: BLOCK_TOKENS,
			streamed: true,
			session: `account ${conversation}`,
		};
	};
	for (let i = 0; i < replicas * REQUESTS; i++) {
		const sent = request();
		const choice = pool.choose(sent, 0);
		if (choice) pool.start(choice, sent, 0);
	}
	return { pool, request };
}

export function measureDecisions(sizes: readonly number[], seed = 1): Decision[] {
	const random = new Random(seed);
	const pools = sizes.map((replicas) => ({
		replicas,
		...loadedPool(replicas, random),
		times: [] as number[],
	}));
	for (let round = 0; round < ROUNDS; round++)
		for (const { pool, request, times } of pools) {
			const requests = Array.from({ length: CHOICES_PER_ROUND }, request);
			const before = performance.now();
			for (const sent of requests) pool.choose(sent, round);
			times.push(((performance.now() - before) / CHOICES_PER_ROUND) * 1_000);
		}
	const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
	const medians = pools.map(({ replicas, times }) => ({ replicas, us: median(times) }));
	return medians.map((one) => ({ ...one, ratio: one.us / (medians[0]?.us ?? 1) }));
}
