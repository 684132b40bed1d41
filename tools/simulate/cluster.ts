/**
 * A discrete-event model of a cluster of engines. Each engine processes one prompt at a time at a fixed speed, skips the
 * blocks that its LRU cache has, and then generates the output at a speed that depends on its active requests. The gateway's part
 * is the code of `src/pools`, under the time of the model.
 */
import type { Policy, PolicyName, PoolRequest } from "../../src/pools/choice.ts";
import type { Flight } from "../../src/pools/flight.ts";
import { learnOthers, ownShare } from "../../src/pools/load-exchange.ts";
import { MinHeap } from "../../src/pools/min-heap.ts";
import { Pool } from "../../src/pools/pool.ts";
import { SharedLoads } from "../../src/pools/shared-loads.ts";
import { Random } from "../soak/random.ts";
import { TRACE_BLOCK_TOKENS, type TraceRequest } from "./trace.ts";

export interface ClusterOptions {
	replicas: number;
	policy: PolicyName | Policy;
	/** Uncached prompt tokens per second. */
	prefillSpeed?: number;
	/** Blocks of the cache of each engine. */
	cacheBlocks?: number;
	/** The pool knows the size of the caches. Otherwise it learns it from reported cached tokens. */
	knownCache?: boolean;
	/** Changes the tokens of a request that the pool reads: an error of its estimate. */
	estimate?: (tokens: number) => number;
	maxPairs?: number;
	/** Isolates that send requests to the same engines, each with a pool of its own. Requests come to a random one. Default: 1. */
	isolates?: number;
	/** Milliseconds between two exchanges of an isolate (`SharedLoads`). Absent: there are none. */
	exchangeMs?: number;
}

export interface Outcome {
	/** Milliseconds to the first token of each request, ascending. */
	firstTokenMs: number[];
	/** Share of the prompt tokens that were in a cache. */
	hitRate: number;
	/** Uncached tokens of the busiest engine, divided by the mean. */
	imbalance: number;
	/** Microseconds for each choice. */
	choiceUs: number;
	/** Calls of the object that isolates share their loads with. */
	exchanges: number;
}

const STEP_MS = 12;
const STEP_MS_PER_ACTIVE = 0.35;

/** An engine's cache: the blocks in the order of their last use. */
class Cache {
	readonly #blocks = new Set<number>();
	readonly #capacity: number;

	constructor(capacity: number) {
		this.#capacity = capacity;
	}

	/** Number of blocks from the beginning that are cached. */
	match(blocks: readonly number[]): number {
		const missing = blocks.findIndex((block) => !this.#blocks.has(block));
		return missing < 0 ? blocks.length : missing;
	}

	use(blocks: readonly number[]): void {
		for (const block of blocks.toReversed()) {
			this.#blocks.delete(block);
			this.#blocks.add(block);
		}
		for (const oldest of this.#blocks) {
			if (this.#blocks.size <= this.#capacity) break;
			this.#blocks.delete(oldest);
		}
	}
}

/** The first block after the common one stands for a session id. */
export const sessionOf = ({ blocks }: TraceRequest): string => String(blocks[1] ?? blocks[0]);

interface Job {
	request: TraceRequest;
	flight: Flight;
}

interface Engine {
	cache: Cache;
	/** Prompts that wait. */
	queue: Job[];
	busy: boolean;
	active: number;
	uncached: number;
}

interface Event {
	run(now: number): void;
}

export function simulate(trace: readonly TraceRequest[], options: ClusterOptions): Outcome {
	const { replicas, policy, prefillSpeed = 8_000, cacheBlocks = 1_000, knownCache = true } = options;
	const { estimate = (tokens: number) => tokens, maxPairs = replicas * cacheBlocks } = options;
	const engines = new Map<string, Engine>();
	for (let i = 0; i < replicas; i++)
		engines.set(`engine-${i}`, {
			cache: new Cache(cacheBlocks),
			queue: [],
			busy: false,
			active: 0,
			uncached: 0,
		});
	const { isolates = 1, exchangeMs } = options;
	const random = new Random(1);
	const urls = [...engines.keys()];
	const pools = Array.from({ length: isolates }, (_, i) => {
		const start = Math.floor((i * urls.length) / isolates);
		const rotated = [...urls.slice(start), ...urls.slice(0, start)];
		return new Pool(rotated, { policy, maxPairs, ...(knownCache && { cacheBlocks }) });
	});
	const events = new MinHeap<Event>();
	let sequence = 0;
	const schedule = (at: number, run: (now: number) => void) => events.set({ run }, at, sequence++);
	const firstTokenMs: number[] = [];
	let [promptTokens, hitTokens, choiceMs, exchanges] = [0, 0, 0, 0];

	const startPrompt = (engine: Engine, now: number): void => {
		const job = engine.queue.shift();
		if (!job) return;
		engine.busy = true;
		const { request, flight } = job;
		const { inputTokens, outputTokens, blocks } = request;
		const cached = Math.min(engine.cache.match(blocks) * TRACE_BLOCK_TOKENS, inputTokens);
		engine.cache.use(blocks);
		promptTokens += inputTokens;
		hitTokens += cached;
		engine.uncached += inputTokens - cached;
		schedule(now + ((inputTokens - cached) / prefillSpeed) * 1000, (at) => {
			firstTokenMs.push(at - request.at);
			flight.firstToken(at);
			engine.busy = false;
			engine.active++;
			const stepMs = STEP_MS + STEP_MS_PER_ACTIVE * engine.active;
			schedule(at + stepMs * outputTokens, (end) => {
				engine.active--;
				flight.end(end, { inputTokens, cachedTokens: cached, outputTokens });
			});
			startPrompt(engine, at);
		});
	};
	const shared = new SharedLoads();
	const exchange = (isolate: Pool, now: number, since: number): void => {
		const others = shared.exchange(String(pools.indexOf(isolate)), ownShare(isolate, since), now);
		learnOthers(isolate, others);
		exchanges++;
		if (next < trace.length && exchangeMs !== undefined)
			schedule(now + exchangeMs, (at) => exchange(isolate, at, others.sequence));
	};
	const arrive = (request: TraceRequest, now: number): void => {
		const pool = pools[isolates === 1 ? 0 : random.int(0, isolates - 1)];
		if (!pool) throw new Error("There is no isolate");
		const poolRequest: PoolRequest = {
			inputTokens: estimate(request.inputTokens),
			blocks: request.blocks,
			blockTokens: TRACE_BLOCK_TOKENS,
			streamed: true,
			session: sessionOf(request),
		};
		const before = performance.now();
		const choice = pool.choose(poolRequest, now);
		choiceMs += performance.now() - before;
		if (!choice) throw new Error("The pool has no replica");
		const flight = pool.start(choice, poolRequest, now);
		const engine = engines.get(choice.replica.url);
		if (!engine) throw new Error("The pool chose an unknown replica");
		engine.queue.push({ request, flight });
		if (!engine.busy) startPrompt(engine, now);
	};

	let next = 0;
	if (exchangeMs !== undefined)
		for (const [i, pool] of pools.entries())
			schedule((exchangeMs * i) / isolates, (at) => exchange(pool, at, 0));
	for (;;) {
		const request = trace[next];
		const at = events.topKey ?? Number.POSITIVE_INFINITY;
		if (request && request.at <= at) {
			next++;
			arrive(request, request.at);
			continue;
		}
		const event = events.top;
		if (!event) break;
		events.delete(event);
		event.run(at);
	}
	const work = [...engines.values()].map(({ uncached }) => uncached);
	const mean = work.reduce((sum, tokens) => sum + tokens, 0) / work.length;
	return {
		firstTokenMs: firstTokenMs.sort((a, b) => a - b),
		hitRate: hitTokens / Math.max(1, promptTokens),
		imbalance: Math.max(...work) / Math.max(1, mean),
		choiceUs: (choiceMs / Math.max(1, trace.length)) * 1000,
		exchanges,
	};
}
