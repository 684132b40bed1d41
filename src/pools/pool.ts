/**
 * The replicas of one model, and the requests in progress at each. Lives in one isolate, and learns the load of others.
 *
 * A request is counted as prefill (its uncached prompt tokens) until its first token, then as decode (its prompt and
 * expected output tokens) until its end. Time is an argument, in milliseconds.
 */
import {
	POLICY,
	type Policy,
	type PolicyName,
	type PoolRequest,
	type PoolView,
	type ReplicaChoice,
	type Usable,
	uncachedTokens,
} from "./choice.ts";
import type { Flight, FlightUsage } from "./flight.ts";
import { HashRing } from "./hash-ring.ts";
import { MinHeap } from "./min-heap.ts";
import { PrefixHints } from "./prefix-hints.ts";
import { PrefixIndex } from "./prefix-index.ts";
import { type EngineLoad, type LoadReport, Replica } from "./replica.ts";
import { SessionMemory } from "./session-memory.ts";
import { SpeedEstimate, speedClass } from "./speed.ts";

export interface PoolOptions {
	policy?: PolicyName | Policy;
	/** Upper bound of the prefix index: pairs of a block and a replica. */
	maxPairs?: number;
	/** Blocks that the cache of each engine has. Absent: learned from the cached tokens that the engines report. */
	cacheBlocks?: number;
}

const DEFAULT_PROMPT_TOKENS = 1_024;
const DEFAULT_OUTPUT_TOKENS = 256;
/** Weight of a new request in the means of tokens. */
const MEAN_WEIGHT = 0.05;

interface InProgress {
	replica: Replica;
	prefill: number;
	decode: number;
	/** Milliseconds. */
	startedAt: number;
	stage: "prefill" | "decode" | "ended";
}

export class Pool implements PoolView {
	readonly #options: PoolOptions;
	readonly #policy: Policy;
	readonly #replicas = new Map<string, Replica>();
	readonly index: PrefixIndex<Replica>;
	readonly hints = new PrefixHints();
	readonly sessions = new SessionMemory<Replica>();
	readonly ring = new HashRing<Replica>();
	readonly byUse = new MinHeap<Replica>();
	readonly byLoad = new Map<number, MinHeap<Replica>>();
	#members: readonly Replica[] = [];
	readonly #speed = new SpeedEstimate();
	#queuedTokens = 0;
	#outputTokens = DEFAULT_OUTPUT_TOKENS;
	#sequence = 0;
	/** Replicas with a report, by the time at which it expires. */
	readonly #reported = new MinHeap<Replica>();
	/** Mean uncached prompt tokens of a request. */
	meanPromptTokens = DEFAULT_PROMPT_TOKENS;
	/** Requests whose first token is not observed, by the time at which it is expected. */
	readonly #unobserved = new MinHeap<InProgress>();

	constructor(urls: Iterable<string> = [], options: PoolOptions = {}) {
		const { policy = "expected", maxPairs } = options;
		this.#options = options;
		this.#policy = typeof policy === "function" ? policy : POLICY[policy];
		this.index = new PrefixIndex({ ...(maxPairs !== undefined && { maxPairs }) });
		for (const url of urls) this.add(url);
	}

	get members(): readonly Replica[] {
		return this.#members;
	}

	/** Includes those that are drained. */
	get replicas(): Iterable<Replica> {
		return this.#replicas.values();
	}

	get speed(): number {
		return this.#speed.perMs();
	}

	get meanQueuedTokens(): number {
		return this.#queuedTokens / Math.max(1, this.#members.length);
	}

	get(url: string): Replica | undefined {
		return this.#replicas.get(url);
	}

	/** Adds a replica, or ends its draining. */
	add(url: string): void {
		const existing = this.#replicas.get(url);
		if (existing && !existing.draining) return;
		const replica = existing ?? new Replica(url, this.#sequence++);
		replica.draining = false;
		this.#replicas.set(url, replica);
		if (this.#options.cacheBlocks !== undefined) replica.cacheBlocks = this.#options.cacheBlocks;
		this.index.setCapacity(replica, replica.cacheBlocks);
		this.ring.add(url, replica);
		this.byUse.set(replica, replica.chosen);
		this.#heapOf(replica).set(replica, replica.queuedTokens, replica.chosen);
		this.#queuedTokens += replica.queuedTokens;
		this.#members = [...this.#members, replica];
	}

	/** No new requests go to the replica; its requests in progress continue. Returns `false` for an unknown replica. */
	drain(url: string): boolean {
		const replica = this.#replicas.get(url);
		if (!replica) return false;
		if (replica.draining) return true;
		replica.draining = true;
		this.ring.delete(replica);
		this.byUse.delete(replica);
		this.#heapOf(replica).delete(replica);
		this.sessions.deleteReplica(replica);
		this.index.delete(replica);
		this.hints.delete(replica);
		this.#queuedTokens -= replica.queuedTokens;
		this.#members = this.#members.filter((member) => member !== replica);
		return true;
	}

	/** Requests in progress at the replica continue. */
	remove(url: string): boolean {
		return this.drain(url) && this.#replicas.delete(url);
	}

	/** The best replica that is usable. Changes nothing that the next choice depends on. */
	choose(request: PoolRequest, now: number, usable: Usable = () => true): ReplicaChoice | undefined {
		this.#advance(now);
		return this.#policy(this, request, usable);
	}

	/** The request goes to the chosen replica. The owner of the flight ends it. */
	start({ replica, cachedTokens, expectedMs }: ReplicaChoice, request: PoolRequest, now: number): Flight {
		const { inputTokens, maxOutputTokens, blocks, blockTokens, session, streamed } = request;
		// Integers, so that the sums return to 0.
		const prefill = Math.round(uncachedTokens(request, cachedTokens));
		const output = Math.min(maxOutputTokens ?? Number.POSITIVE_INFINITY, this.#outputTokens);
		const flight: InProgress = {
			replica,
			prefill,
			decode: Math.round(inputTokens + output),
			startedAt: now,
			stage: "prefill",
		};
		this.meanPromptTokens += MEAN_WEIGHT * (prefill - this.meanPromptTokens);
		replica.chosen = this.#sequence++;
		if (!replica.draining) {
			this.byUse.set(replica, replica.chosen);
			this.hints.add(replica, request, cachedTokens);
			this.index.add(replica, blocks);
			if (session !== undefined) this.sessions.set(session, replica, request);
		}
		this.#change(replica, () => {
			replica.requests++;
			replica.prefillTokens += prefill;
		});
		if (!streamed) this.#unobserved.set(flight, now + expectedMs);
		return {
			replica,
			firstToken: (at) => {
				if (flight.stage !== "prefill") return;
				this.#learnSpeed(flight, at);
				this.#decode(flight);
			},
			end: (at, usage) => {
				if (flight.stage === "ended") return;
				this.#unobserved.delete(flight);
				this.#end(flight);
				this.#advance(at);
				if (!usage) return;
				this.#outputTokens += MEAN_WEIGHT * (usage.outputTokens - this.#outputTokens);
				if (blocks.length > 0) this.#correctCache(replica, cachedTokens, usage, blockTokens);
			},
		};
	}

	/** An engine reports its load. It replaces the report before it. */
	report(url: string, load: EngineLoad, times: Pick<LoadReport, "at" | "validMs">): void {
		const replica = this.#replicas.get(url);
		if (!replica) return;
		const mean = { prefill: this.meanPromptTokens, decode: this.meanPromptTokens + this.#outputTokens };
		this.#change(replica, () => replica.setReport({ load, mean, ...times }));
		this.#reported.set(replica, times.at + times.validMs);
		if (load.cacheTokens === undefined || this.#options.cacheBlocks !== undefined) return;
		replica.setCacheTokens(load.cacheTokens);
		if (!replica.draining) this.index.setCapacity(replica, replica.cacheBlocks);
	}

	/** The queued tokens of all other isolates, by address. An absent replica has none. */
	setOthers(tokens: ReadonlyMap<string, number>): void {
		for (const replica of this.#replicas.values()) {
			const others = tokens.get(replica.url) ?? 0;
			if (others !== replica.othersTokens) this.#change(replica, () => replica.setOthers(others));
		}
	}

	/** What has changed by the time alone. */
	#advance(now: number): void {
		for (;;) {
			const flight = this.#unobserved.top;
			if (!flight || (this.#unobserved.topKey ?? now) > now) break;
			this.#unobserved.delete(flight);
			this.#decode(flight);
		}
		for (;;) {
			const replica = this.#reported.top;
			if (!replica || (this.#reported.topKey ?? now) > now) break;
			this.#reported.delete(replica);
			this.#change(replica, () => replica.forgetReport());
		}
	}

	#decode(flight: InProgress): void {
		if (flight.stage !== "prefill") return;
		flight.stage = "decode";
		const { replica, prefill, decode } = flight;
		this.#change(replica, () => {
			replica.prefillTokens -= prefill;
			replica.decodeTokens += decode;
		});
	}

	#end(flight: InProgress): void {
		const { replica, stage, prefill, decode } = flight;
		flight.stage = "ended";
		this.#change(replica, () => {
			replica.requests--;
			if (stage === "prefill") replica.prefillTokens -= prefill;
			else replica.decodeTokens -= decode;
		});
	}

	/** The engine was busy with this prompt since the first token of the one before it. */
	#learnSpeed({ replica, prefill, startedAt }: InProgress, now: number): void {
		const ms = now - Math.max(startedAt, replica.firstTokenAt);
		replica.firstTokenAt = now;
		replica.speed.learn(prefill, ms);
		this.#speed.learn(prefill, ms);
		const next = speedClass(replica.speed.perMs(this.speed), this.speed, replica.speedClass);
		if (next === replica.speedClass) return;
		this.#heapOf(replica).delete(replica);
		replica.speedClass = next;
		if (!replica.draining) this.#heapOf(replica).set(replica, replica.queuedTokens, replica.chosen);
	}

	#correctCache(
		replica: Replica,
		expectedTokens: number,
		{ cachedTokens }: FlightUsage,
		blockTokens: number,
	): void {
		if (cachedTokens !== undefined) replica.reportsCachedTokens = true;
		if (!replica.reportsCachedTokens || this.#options.cacheBlocks !== undefined) return;
		replica.correctCache(expectedTokens, cachedTokens ?? 0, blockTokens);
		if (!replica.draining) this.index.setCapacity(replica, replica.cacheBlocks);
	}

	/** Changes the load of a replica, and its place. */
	#change(replica: Replica, change: () => void): void {
		const before = replica.queuedTokens;
		change();
		if (replica.draining) return;
		this.#queuedTokens += replica.queuedTokens - before;
		this.#heapOf(replica).set(replica, replica.queuedTokens, replica.chosen);
	}

	#heapOf({ speedClass }: Replica): MinHeap<Replica> {
		const existing = this.byLoad.get(speedClass);
		if (existing) return existing;
		const heap = new MinHeap<Replica>();
		this.byLoad.set(speedClass, heap);
		return heap;
	}
}
